"""Every figure from small real sweeps: the numbers in it, not its pixels."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from analysis import load
from analysis.drawing.bands import IN_LEGENDS
from analysis.drawing.files import page_svg, render
from analysis.drawing.style import STYLES, styles, use_paper_style
from analysis.figures import drawings
from analysis.figures.profile import to_target
from analysis.results.errors import NoData
from analysis.results.folder import load_folder
from analysis.study.figure_options import FigureOptions
from analysis.study.select import as_written
from tests.helpers import sweeps
from tests.helpers.few import few
from tests.helpers.invented import made, of

pytestmark = pytest.mark.xdist_group("figures")
OF_NETWORKS = {"packet_loss", "compression", "network", "slow_node", "bias"}
"""They need other runs or options: test_network*.py, test_slow_node.py."""
NAMES = [name for name in drawings() if name not in OF_NETWORKS]


def draw(name, results, **request):
    return drawings()[name].draw(results, FigureOptions(**request))


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_is_drawn_and_says_what_it_used(drawn, results, name):
    picture = drawn(name)
    for note in picture.notes:  # one name per thing, that of the legend
        assert not re.search(r"\b(dnasa|dsgd|dsgt|dasagt|eta)\b", note)
    assert len(picture.data)
    assert picture.runs <= set(results.runs["run_id"])
    assert picture.runs


@pytest.mark.thorough
@pytest.mark.parametrize("name", NAMES)
def test_every_figure_is_the_same_bytes_for_the_same_data(drawn, results, name):
    assert render(drawn(name).figure, "svg") == render(draw(name, results).figure, "svg")


@pytest.fixture(scope="module")
def twins(results):
    return [draw("stepsize", results).figure for _ in range(2)]


@pytest.mark.parametrize("kind", few(["pdf", "png", "svg"], ["pdf"]))
def test_files_are_the_same_bytes_for_the_same_data(twins, kind):
    first, second = (render(figure, kind) for figure in twins)
    assert first == second
    if kind == "pdf":
        assert b"/FontFile2" in first  # TrueType, embedded
        assert b"/Type3" not in first
        assert b"CreationDate" not in first


def test_stepsize(drawn, finals):
    data = drawn("stepsize").data
    (point,) = of(data, algo="dsgd", x=0.1).to_dict("records")
    mine = of(finals, dataset="digits", algo="dsgd", topology=point["topology"], nodes=8, eta=0.1, scale=1.0)
    assert point["mean"] == pytest.approx(mine["test_accuracy"].mean())
    assert (point["low"], point["high"]) == (mine["test_accuracy"].min(), mine["test_accuracy"].max())
    assert (point["runs"], point["nonfinite"]) == (3, 0)


def test_diverged_runs_are_counted_and_have_no_mean(drawn):
    data = drawn("topology").data
    gone = data[data["x"] == 1e39]
    assert set(gone["algo"]) == {"dsgd", "dsgt"}
    assert (gone["nonfinite"] == 3).all()
    assert gone["mean"].isna().all()
    picture = drawn("topology")
    marks = [line for ax in picture.figure.axes for line in ax.lines if line.get_marker() == "x"]
    assert len(marks) == 2 * 2  # on the floor of both panels, for both methods
    assert [text.get_text() for text in picture.figure.legends[0].texts] == [
        "D-NASA",
        "D-SGD",
        "D-SGT",
        "diverged (inf or NaN)",
        IN_LEGENDS["range"],
    ]


def test_topology_has_a_panel_per_graph_with_its_rho(drawn):
    picture = drawn("topology")
    titles = [ax.get_title(loc="left") for ax in picture.figure.axes]
    assert titles == ["digits, ring (ρ = 0.805), T = 40", "digits, complete (ρ = 0.000), T = 40"]


COSTS = ["step", "samples", "gradients", "rounds", "scalars_sent", "bytes", "wall_s"]


@pytest.mark.parametrize("x", few(["epoch", *COSTS], ["epoch", "bytes"]))
def test_curves_along_every_axis(drawn, x):
    picture = drawn("curves", x=x)
    assert set(picture.data["x_axis"].dropna()) == {x}
    one = picture.data[(picture.data["metric"] == "test_accuracy") & (picture.data["algo"] == "dnasa")]
    assert list(one["step"]) == [0, 10, 20, 30, 40]
    assert (np.diff(one["x"]) > 0).all()


def test_what_was_not_counted_is_no_axis(results):
    """Older runs lack columns: all of them, or those that lie in one folder with newer ones."""
    older = replace(results, rows=results.rows.drop(columns=["gradients", "scalars_sent"]))
    for name, request in (("curves", {"x": "gradients"}), ("profile", {"cost": "gradients"})):
        with pytest.raises(NoData, match=r"gradients.*step, epoch, samples, rounds,"):
            draw(name, older, **request)
    dsgt = results.rows["run_id"].isin(results.runs.loc[results.runs["algo"] == "dsgt", "run_id"])
    mixed = replace(results, rows=results.rows.assign(gradients=results.rows["gradients"].where(~dsgt)))
    for name, request in (("curves", {"x": "gradients"}), ("profile", {"cost": "gradients"})):
        picture = draw(name, mixed, **request)
        assert set(picture.data["algo"].dropna()) == {"dnasa", "dsgd"}  # not a target that D-SGT missed
        assert any("18 runs" in note and "gradients" in note for note in picture.notes)


def test_consensus_draws_the_bound_of_the_runs(drawn, folder):
    data = drawn("consensus").data
    bound = data[data["metric"] == "consensus_bound"].set_index("step")["mean"]
    rows = load(folder)
    key = data[data["metric"] == "consensus_bound"].iloc[0]
    mine = of(
        rows, algo="dnasa", dataset=key["dataset"], topology=key["topology"], nodes=key["nodes"], schedule="diminishing"
    )
    mine = (
        mine[mine["consensus_bound"].notna() & (mine["normalize"] == "vector")].groupby("step")["consensus_bound"].max()
    )
    assert bound[40] == pytest.approx(mine[40])
    measured = data[(data["metric"] == "consensus") & (data["algo"] == "dnasa")].set_index("step")["high"]
    assert (measured <= bound.loc[measured.index]).all()


def test_consensus_draws_each_methods_own_bound():
    """Of the runs that are drawn: neither the largest of all methods, nor that of a stepsize that was not chosen."""
    bounds = {("dnasa", 1.0): 0.189, ("dasa", 0.1): 0.047, ("dasa", 10.0): 14.75, ("dsgd", 0.1): None}
    several = [{"algo": a, "eta": eta, "seed": s, "end": eta / 100} for a, eta in bounds for s in (0, 1)]
    some = made(several, [{"mixing": {"rho": 0.8}}] * len(several))
    own = [bounds[row["algo"], row["eta"]] for row in several for _ in range(3)]
    some = replace(some, rows=some.rows.assign(consensus_bound=pd.Series(own, dtype=float)))
    picture = draw("consensus", some, metrics=("consensus",))
    data = picture.data[picture.data["metric"] == "consensus_bound"]
    assert data.groupby("algo")["mean"].unique().map(list).to_dict() == {"dasa": [0.047], "dnasa": [0.189]}
    look = styles(["dnasa", "dasa", "dsgd"], some)
    (panel,) = picture.figure.axes
    drawn = {
        line.get_color(): set(line.get_ydata())
        for line in panel.lines
        if line.get_ls() == "--" and not line.get_marker()
    }
    assert drawn == {look["dasa"].color: {0.047}, look["dnasa"].color: {0.189}}
    assert any("0.0529" in note for note in picture.notes)


def test_profile_counts_what_was_missed(drawn, finals):
    data = drawn("profile").data
    untuned = data[(data["rule"] == "untuned") & (data["algo"] == "dsgd")]
    assert max(untuned["mean"], default=0) < 0.7  # a stepsize of 1e39 solves nothing, and one try in three is that
    assert data[data["rule"] == "tuned"]["x"].min() == 1.0


def test_a_target_does_not_move_when_a_method_is_added(results):
    finals = results.finals[results.finals["dataset"] == "digits"]
    few, more = ({"dnasa", "dsgd"}, {"dnasa", "dsgd", "dsgt"})
    costs = [to_target(results, finals, methods, "dsgd", FigureOptions())[0] for methods in (few, more)]
    ours = [table[table["algo"] != "dsgt"].set_index("run_id")["cost"].sort_index() for table in costs]
    pd.testing.assert_series_equal(*ours)
    assert costs[0]["problem"].nunique() == 2  # graphs; the three seeds of one share its weight
    other = to_target(results, finals, more, "dnasa", FigureOptions())[0]
    assert not other.set_index("run_id")["cost"].equals(costs[1].set_index("run_id")["cost"])


@pytest.mark.parametrize("cost", few(COSTS, ["bytes"]))
def test_profiles_along_every_cost(drawn, cost):
    assert len(drawn("profile", cost=cost).data)


def test_heterogeneity_orders_the_splits_as_measured(drawn):
    picture = drawn("heterogeneity")
    labels = [tick.get_text().split("\n")[0] for tick in picture.figure.axes[0].get_xticklabels()]
    assert labels == ["even", "dirichlet(1)"]


def test_variants_stay_out_of_the_other_figures(results):
    kept, notes = as_written(results, results.finals[results.finals["dataset"] == "digits"])
    assert set(kept.loc[kept["algo"] == "dnasa", "normalize"]) == {"vector"}
    assert any("3 runs of its variants" in note for note in notes)


def test_two_seeds_are_drawn_as_two_seeds(drawn, results):
    two = results.where([("seed", ["0", "1"]), ("dataset", ["digits"])])
    with_band = drawn("stepsize").figure.axes[0].collections
    assert len(with_band) > len(draw("stepsize", two).figure.axes[0].collections)


@pytest.mark.thorough
def test_one_seed_all_diverged_and_nothing_at_all(results):
    one = results.where([("seed", ["0"]), ("dataset", ["digits"])])
    assert len(draw("stepsize", one).data)
    gone = results.where([("state", ["nonfinite"])])
    with pytest.raises(NoData, match="two stepsizes"):
        draw("stepsize", gone)
    data = draw("compare", gone).data
    assert set(data["step"]) == {0}  # all that is finite
    assert set(data["runs"]) == {3}
    for name in NAMES:
        if name != "graphs":
            with pytest.raises(NoData):
                draw(name, results.where([("state", ["failed"])]))


@pytest.mark.thorough
def test_labels_that_a_plug_in_invented(results):
    """An unknown method, dataset and metric are drawn like any other."""
    renamed = {"dsgt": "wonder_method"}
    strange = results.runs.assign(algo=results.runs["algo"].replace(renamed), temperature=1.5)
    ring = [("dataset", ["digits"]), ("topology", ["ring"]), ("nodes", ["8"]), ("scale", ["1"])]
    picture = draw("compare", replace(results, runs=strange).where(ring))
    assert "wonder_method" in set(picture.data["algo"])
    assert "wonder_method, η = 0.1" in [text.get_text() for text in picture.figure.legends[0].texts]


def test_every_method_has_a_style_of_its_own():
    many = styles([*STYLES, "b_method", "a_method"])
    assert len({(style.color, style.marker) for style in many.values()}) == len(STYLES) + 2
    assert list(many)[-2:] == ["a_method", "b_method"]


def test_a_figure_on_a_page_takes_the_pages_ink(results):
    text = page_svg(draw("graphs", results).figure, "graphs")
    assert "currentColor" in text
    assert 'id="graphs-' in text
    assert "#1f2328" not in text
    ids = pd.Series(re.findall(r'id="([^"]+)"', text))
    assert ids.str.startswith("graphs-").all()
    for used in set(re.findall(r'(?:xlink:href="#|url\(#)([^")]+)', text)):
        assert used in set(ids)


def test_half_written_runs_are_named_and_left_out(folder, tmp_path):
    use_paper_style()
    folder = sweeps.copied(folder, tmp_path, "untuned")
    runs = sorted((folder / "runs").iterdir())
    (runs[0] / "summary.json").write_text('{"run_id": "x"')
    (runs[1] / "metrics.parquet").write_bytes(b"PAR1")
    (runs[2] / "manifest.json").unlink()
    found = load_folder(folder)
    assert found.unreadable == [runs[0].name, runs[1].name]
    assert len(found.runs) == 4
    assert len(draw("compare", found).data)
