"""Figures and the table of runs with a slow node, from invented numbers."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest

from analysis.figures import drawings
from analysis.results.errors import NoData
from analysis.results.results import Results
from analysis.study.figure_options import FigureOptions
from analysis.tables import table_makers
from analysis.tables.slow_node import PARTS
from tests.helpers.invented import made

LAN = {"network": "lan", "network.gradient_ms": 5.0, "nodes": 4}
EVENTS = {"events": "messages"}


def runs(**more) -> Results:
    """Two asynchronous methods with factors 1 and 4 and three seeds; ``biased`` ends worse if a node is slow."""
    rows = [
        {"algo": algo, **LAN, "network.slow": slow, "seed": seed, "end": 0.1, **more}
        | {"train": 0.2 if (algo, slow) == ("biased", 4.0) else 0.05}
        for algo, slow, seed in product(("biased", "exact"), (1.0, 4.0), range(3))
    ]
    out = made(rows, [{"algorithm": {"name": row["algo"], "label": row["algo"], **EVENTS}} for row in rows])
    slow = out.runs.set_index("run_id")["network.slow"].reindex(out.rows["run_id"]).to_numpy()
    biased = out.runs.set_index("run_id")["algo"].reindex(out.rows["run_id"]).to_numpy() == "biased"
    far, near = np.where(slow > 1, 0.5, 0.01), np.full(len(slow), 0.01)
    distances = {
        "minimizer_distance": np.where(biased, far, near),
        "weighted_minimizer_distance": np.where(biased, near, far),
    }
    return replace(out, rows=out.rows.assign(virtual_s=out.rows["step"] / 100, **distances))


def test_bias_shows_both_distances_by_factor():
    picture = drawings()["bias"].draw(runs(), FigureOptions())
    at = picture.data.set_index(["algo", "metric", "x"])["mean"]
    assert at["biased", "minimizer_distance", 4.0] == pytest.approx(0.5)
    assert at["biased", "weighted_minimizer_distance", 4.0] == pytest.approx(0.01)
    assert at["exact", "minimizer_distance", 4.0] == pytest.approx(0.01)
    assert [tick.get_text() for tick in picture.figure.axes[0].get_xticklabels()] == ["1", "4"]
    assert len(picture.runs) == 12


def test_networks_are_not_averaged():
    lan, wan = runs(), runs(network="wan", end=0.3, train=0.9)
    renamed = {run: f"wan-{run}" for run in wan.runs["run_id"]}
    both = replace(
        lan,
        runs=pd.concat([lan.runs, wan.runs.replace({"run_id": renamed})], ignore_index=True),
        rows=pd.concat([lan.rows, wan.rows.replace({"run_id": renamed}).eval("minimizer_distance = 7.0")]),
        facts={**lan.facts, **{renamed[run]: fact for run, fact in wan.facts.items()}},
    )
    for name in ("bias", "slow_node"):
        picture = drawings()[name].draw(both, FigureOptions())
        assert picture.runs == set(lan.runs["run_id"])
        assert any("network=lan" in note for note in picture.notes)
    table = table_makers()["slow_node_times"].make(both, FigureOptions())
    assert list(table.data["runs"]) == [3] * 4
    assert "drawn for network=lan" in table.notes
    assert not {*PARTS} & {*table.notes}


def test_bias_has_a_line_of_its_own_for_equal_weights():
    some = runs()
    labels = some.runs.assign(algo="adpsgd", equal_weights=some.runs["algo"] == "exact")
    facts = {run: {"algorithm": {"name": "adpsgd", "label": "AD-PSGD", **EVENTS}} for run in labels["run_id"]}
    picture = drawings()["bias"].draw(replace(some, runs=labels, facts=facts), FigureOptions())
    assert [text.get_text() for text in picture.figure.legends[0].get_texts()][:2] == [
        "AD-PSGD",
        "AD-PSGD, equal weights",
    ]
    ends = picture.data[(picture.data["x"] == 4) & (picture.data["metric"] == "minimizer_distance")]
    assert ends.set_index("equal_weights")["mean"].to_dict() == pytest.approx({False: 0.5, True: 0.01})


def test_curves_have_a_panel_per_factor_over_virtual_seconds():
    picture = drawings()["slow_node"].draw(runs(), FigureOptions())
    assert [ax.get_title(loc="left") for ax in picture.figure.axes] == ["slow factor 1", "slow factor 4"]
    assert picture.data.groupby("algo")["x"].max().tolist() == [4.0, 4.0]
    assert all(ax.get_xscale() == "log" for ax in picture.figure.axes)


def test_curves_have_a_row_per_partition():
    both = [runs(), runs(partition="dirichlet", **{"partition.alpha": 0.1})]
    for number, some in enumerate(both):
        names = {run: f"{run}-{number}" for run in some.runs["run_id"]}
        tables = [table.assign(run_id=table["run_id"].map(names)) for table in (some.runs, some.rows)]
        both[number] = replace(some, runs=tables[0], rows=tables[1], facts={names[r]: f for r, f in some.facts.items()})
    whole = replace(
        both[0],
        runs=pd.concat([one.runs for one in both], ignore_index=True),
        rows=pd.concat([one.rows for one in both], ignore_index=True),
        facts={**both[0].facts, **both[1].facts},
    )
    picture = drawings()["slow_node"].draw(whole, FigureOptions())
    titles = [ax.get_title(loc="left").replace("\n", " ") for ax in picture.figure.axes]
    assert titles[::2] == ["even, slow factor 1", "dirichlet(0.1), slow factor 1"]


def test_the_table_has_times_to_three_losses():
    found = table_makers()["slow_node_times"].table(runs(), FigureOptions())
    row = found.data.set_index(["algo", "slow"]).loc[("biased", 4.0)]
    assert row["seconds to 1/4"] == pytest.approx(2.0)
    assert np.isnan(row["seconds to 1/8"])
    assert row["final"] == pytest.approx(0.2)
    assert found.data.set_index(["algo", "slow"]).loc[("exact", 4.0), "seconds to 1/16"] == pytest.approx(2.0)
    assert "—" in set(found.shown["1/8"])
    assert not {"3/4", "1/2"} & set(found.shown)


def test_the_table_has_the_losses_that_a_method_reaches():
    some = runs()
    slow = some.rows.assign(train_loss=some.rows["train_loss"].clip(lower=some.rows["train_loss"].max() * 0.7))
    found = table_makers()["slow_node_times"].table(replace(some, rows=slow), FigureOptions())
    assert [name for name in found.data if name.startswith("seconds to")] == ["seconds to 3/4"]
    assert found.data["seconds to 3/4"].notna().all()


@pytest.mark.parametrize("name", ["bias", "slow_node"])
def test_one_factor_is_not_enough(name):
    some = runs()
    alone = some.runs[some.runs["network.slow"] == 1]
    with pytest.raises(NoData, match=r"network\.slow"):
        drawings()[name].draw(replace(some, runs=alone), FigureOptions())


def test_names_the_variant_that_is_shown_of_each_factor():
    rows = [
        {"algo": "exact", **LAN, "network.slow": slow, "seed": seed, "end": 0.1, "form": form}
        for slow, form, seed in (
            (1.0, "early", 0),
            (1.0, "early", 1),
            (4.0, "late", 0),
            (4.0, "late", 1),
            (4.0, "early", 0),
        )
    ]
    some = made(rows, [{"algorithm": {"name": "exact", "label": "exact", **EVENTS}}] * len(rows))
    some = replace(some, rows=some.rows.assign(virtual_s=some.rows["step"] / 100))
    for notes in (
        drawings()["slow_node"].draw(some, FigureOptions()).notes,
        table_makers()["slow_node_times"].make(some, FigureOptions()).notes,
    ):
        assert any("slow factor 4: exact: 1 run" in note for note in notes), notes
        assert any("slow factor 4" in note and "form=late" in note for note in notes), notes


def test_a_diverged_run_leaves_no_mean_in_the_table():
    some = runs()
    gone = (some.runs["algo"] == "exact") & (some.runs["network.slow"] == 4) & (some.runs["seed"] == 1)
    some = replace(some, runs=some.runs.assign(state=np.where(gone, "diverging", "done")))
    table = table_makers()["slow_node_times"].make(some, FigureOptions())
    data = table.data.set_index(["algo", "slow"])
    assert data["diverged"].to_dict() == {("biased", 1): 0, ("exact", 1): 0, ("biased", 4): 0, ("exact", 4): 1}
    assert np.isnan(data.loc[("exact", 4), "final"])
    assert np.isfinite(data.loc[("exact", 1), "final"])
    assert [str(count) for count in table.shown["diverged"]] == ["0", "0", "0", "1"]
