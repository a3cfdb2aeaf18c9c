"""The paper's own figures from small real sweeps."""

import numpy as np
import pytest

import reproduction.register  # noqa: F401 (registers the figures and tables)
from analysis.figures import drawings
from analysis.study.figure_options import FigureOptions
from analysis.tables import table_makers
from reproduction.evidence.published import accuracy_as_released
from reproduction.study import published
from reproduction.study.families import stepsizes_in_words
from tests.helpers.invented import made, of
from tests.helpers.mentions import mentions

pytestmark = pytest.mark.xdist_group("figures")


def test_speedup_fits_the_exponents(drawn, finals):
    data = drawn("speedup").data
    mine = of(finals, dataset="synthetic", schedule="fixed", nodes=4)
    each = []
    for _, one in mine.groupby("seed"):
        x, y = np.log(one["steps"].astype(float)), np.log(one["grad_norm_mean"].astype(float))
        each.append(np.diff(y)[0] / np.diff(x)[0])
    rates = data.dropna(subset="exponent")
    (rate,) = rates[(rates["of"] == "steps") & (rates["at"] == "n = 4")].to_dict("records")
    assert rate["exponent"] == pytest.approx(np.mean(each))
    assert rate["theory"] == -0.25
    curve = data[(data["schedule"] == "diminishing") & (data["nodes"] == 2) & (data["metric"] == "test_loss")]
    last = of(finals, dataset="synthetic", schedule="diminishing", nodes=2)["test_loss"].mean()
    assert curve.sort_values("step")["mean"].iloc[-1] == pytest.approx(last)


def test_spike_shows_both_readings_at_the_best_stepsize(drawn, finals):
    picture = drawn("spike")
    assert set(picture.data["spike_sd"]) == {10.0, 100.0}
    for sd in (10.0, 100.0):
        mine = finals[(finals["dataset"] == "spike") & (finals["dataset.spike_sd"] == sd) & (finals["algo"] == "dsgd")]
        clean = mine.groupby("eta").filter(lambda runs: (runs["state"] == "done").all())
        best = clean.groupby("eta")["test_loss"].mean()
        shown = of(picture.data, spike_sd=sd, algo="dsgd", metric="test_loss").sort_values("step")["mean"].iloc[-1]
        assert shown == pytest.approx(best.min())
        assert any(mentions(note, f" {sd:g}", f"D-SGD η={best.idxmin():g}") for note in picture.notes)
    assert any(note.startswith("best stepsize: ") for note in picture.notes)


def test_graphs(drawn):
    data = drawn("graphs").data
    assert set(zip(data["topology"], data["nodes"], strict=True)) == {
        ("ring", 8),
        ("complete", 8),
        ("ring", 4),
        ("ring", 2),
    }
    assert data.set_index(["topology", "nodes"])["rho"][("ring", 8)] == pytest.approx(0.8047, abs=1e-4)


def test_scale_shows_that_dnasa_is_invariant(drawn):
    data = drawn("scale").data
    ours = data[data["algo"] == "dnasa"]
    assert set(ours["x"]) == {0.5, 1.0, 4.0}
    assert ours["mean"].nunique() == 1  # bit for bit: c is a power of two
    assert data[data["algo"] == "dsgd"]["mean"].nunique() > 1


def test_released_compares_each_change_with_what_is_written(drawn, finals):
    data = drawn("released").data
    changed = "per-tensor norm, raw gradients averaged"
    assert set(data["change"]) == {"as written", changed}
    mine = of(finals, algo="dnasa", normalize="tensor")
    (shown,) = data[(data["change"] == changed) & (data["metric"] == "test_accuracy")]["mean"]
    assert shown == pytest.approx(mine["test_accuracy"].mean())


def test_released_averages_neither_graphs_with_other_options_nor_stepsizes():
    """One seed is one run of a point, and the note says which graph it is."""
    rows = [
        {"algo": "dsgd", "eta": eta, "init": init, "topology": "random", "topology.p": p, "seed": seed}
        | {"end": 0.1, "accuracy": 80.0 + 10 * p + eta + seed + (init == "independent"), "schedule": "diminishing"}
        for p, eta, init, seeds in (
            *((0.4, 0.1, init, 3) for init in ("shared", "independent")),
            *((0.9, 0.1, init, 2) for init in ("shared", "independent")),
            *((0.4, 1.0, init, 2) for init in ("shared", "independent")),
        )
        for seed in range(seeds)
    ]
    found = made(rows)
    picture = drawings()["released"].draw(found, FigureOptions())
    table = table_makers()["variants"].make(found, FigureOptions())
    shown = picture.data[picture.data["metric"] == "test_accuracy"].set_index("change")
    assert shown["runs"].to_dict() == {"as written": 3, "independent starts": 3}
    assert shown["mean"].to_dict() == pytest.approx({"as written": 85.1, "independent starts": 86.1})
    assert table.data.set_index("change")["runs"].to_dict() == {"as written": 3, "independent starts": 3}
    (gap,) = accuracy_as_released(found)
    assert (gap.found.value, gap.found.count) == (pytest.approx(1.0), 3)
    for notes in (picture.notes, table.notes):
        assert any("topology.p=0.4" in note for note in notes), notes
        assert any("η=0.1" in note for note in notes), notes


def test_published_numbers_are_the_ones_of_the_paper():
    table = published.published()
    assert len(table) == 113
    ring = published.rows_of_setting("a9a", "ring", 5001)
    assert published.of_dnasa(ring)["test_accuracy"].tolist() == [84.85]
    assert ring[ring["algo"] == "dsgd"]["test_accuracy"].max() == 85.1
    assert published.rows_of_setting("digits", "ring", 40).empty


def test_runs_without_a_stepsize_have_no_note_on_stepsizes():
    found = made([{"algo": "dnasa", "end": 0.5}])
    assert stepsizes_in_words(found, found.finals) == []
