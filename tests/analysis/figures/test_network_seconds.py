"""Figures and tables over seconds on a network."""

from subprocess import CompletedProcess

import numpy as np
import pytest

from analysis import make_figures, make_report
from analysis.figures import drawings
from analysis.figures.network import BANDWIDTHS_MBPS, LATENCIES_MS
from analysis.report.report_data import run_table
from analysis.results.archive import write_archive
from analysis.results.errors import NoData
from analysis.results.results import NETWORK_S
from analysis.results.seconds import on_network
from analysis.study.figure_options import FigureOptions, unused
from analysis.tables import table_makers
from bench.base.errors import UserError
from bench.clock import load_network
from tests.helpers.mentions import mentions
from tests.helpers.timed import expected, pair, slow, timed

pytestmark = pytest.mark.xdist_group("figures")


def both():
    """Two methods that reach the target at every seed: D-SGT at step 200, as D-SGD, but with two rounds per step."""
    made = timed([{"algo": algo, "seed": seed} for algo in ("dsgd", "dsgt") for seed in range(3)])
    for run in made.runs.loc[made.runs["algo"] == "dsgt", "run_id"]:
        made.facts[run]["algorithm"]["rounds"] = 2
    return made


@pytest.mark.parametrize("name", ["curves", "compare"])
def test_curves_over_seconds_have_the_seconds_of_the_clock(name):
    results, _ = on_network(pair(), slow())
    picture = drawings()[name].draw(results, FigureOptions(x=NETWORK_S, metrics=("train_loss",), networks=(slow(),)))
    for _, line in picture.data.groupby("algo"):
        np.testing.assert_allclose(line["x"], expected(line["step"]), rtol=1e-9)
    assert "slow links" in picture.figure.axes[0].get_xlabel()
    assert any("slow links" in note for note in picture.notes)


def test_runs_without_a_time_are_not_drawn():
    made = pair()
    made.rows.loc[made.rows["run_id"] == "run0", "bytes"] = np.nan
    results, _ = on_network(made, slow())
    picture = drawings()["curves"].draw(results, FigureOptions(x=NETWORK_S))
    assert "run0" not in picture.runs
    assert "run1" in picture.runs
    assert any(note.startswith("1 runs") for note in picture.notes)


def test_a_network_is_ignored_unless_an_axis_shows_its_seconds():
    uses = ("x", "metric")
    assert unused(FigureOptions(networks=(slow(),)), uses) == ["--network"]
    assert unused(FigureOptions(networks=(slow(),), x=NETWORK_S), uses) == []
    assert unused(FigureOptions(networks=(slow(),), x=NETWORK_S), ("cost",)) == ["--x", "--network"]
    assert unused(FigureOptions(networks=(slow(),)), ("network",)) == []


def test_the_table_has_the_time_to_the_target_on_every_network():
    fast = slow(latency_ms=1).changed(name="fast")
    made = table_makers()["network_times"].make(pair(), FigureOptions(networks=(slow(), fast)))
    rows = made.data.set_index("algo")
    assert rows.loc["dsgd", "seconds (slow)"] == pytest.approx(expected(200), rel=1e-9)
    assert rows.loc["dsgd", "seconds (fast)"] == pytest.approx(expected(200, latency_ms=1), rel=1e-9)
    assert rows["missed"].to_dict() == {"dsgd": 0, "dsgt": 1}
    assert np.isnan(rows.loc["dsgt", "seconds (slow)"])
    shown = made.shown.set_index("method")
    assert mentions(shown.loc["D-SGT", "steps"], "1", "5")
    assert shown.loc["D-SGD", "seconds (slow)"].found.value == pytest.approx(expected(200), rel=1e-3)


def test_seeds_without_a_target_are_left_out():
    """D-SGT has seeds that D-SGD, which sets the targets, lacks, and on another problem it is alone."""
    rows = [{"algo": "dsgd", "seed": seed} for seed in range(3)]
    rows += [{"algo": "dsgt", "seed": seed, "accuracy": 1.0} for seed in range(6)]
    found = timed([*rows, {"algo": "dsgt", "seed": 0, "nodes": 4}])
    made = table_makers()["network_times"].make(found, FigureOptions(networks=(slow(),)))
    assert made.data.set_index("algo")[["missed", "runs"]].to_dict("index") == {
        "dsgd": {"missed": 0, "runs": 3},
        "dsgt": {"missed": 0, "runs": 3},
    }
    assert [note.split()[0] for note in made.notes if "left out" in note] == ["1", "3"]
    picture = drawings()["network"].draw(found, FigureOptions(networks=(slow(),)))
    assert set(picture.data["algo"]) == {"dsgd", "dsgt"}
    assert sum("left out" in note for note in picture.notes) == 1


def test_rejects_two_networks_of_one_name():
    wan = load_network("wan")
    with pytest.raises(UserError, match="wan"):
        FigureOptions(networks=(wan, wan.changed(latency_ms=1.0)))


def test_the_figure_has_the_time_to_the_target_by_latency_and_bandwidth():
    picture = drawings()["network"].draw(both(), FigureOptions(networks=(slow(),)))
    data = picture.data[picture.data["algo"] == "dsgd"].set_index(["x_axis", "x"])["mean"]
    for axis, values in (("latency (ms)", LATENCIES_MS), ("bandwidth (Mbit/s)", BANDWIDTHS_MBPS)):
        option = "latency_ms" if axis.startswith("latency") else "bandwidth_mbps"
        for x in values:
            assert data[axis, x] == pytest.approx(expected(200, **{option: x}), rel=1e-4)
    twice = picture.data[picture.data["algo"] == "dsgt"].set_index(["x_axis", "x"])["mean"]
    assert (twice >= data).all()
    assert len(picture.figure.axes) == 2


def test_the_figure_has_the_best_and_the_worst_order_of_cities():
    picture = drawings()["network"].draw(both(), FigureOptions(networks=(load_network("cities8"),)))
    orders = picture.data[picture.data["x_axis"] == "order of the sites"]
    for _, line in orders.groupby("algo"):
        best, given, worst = line.sort_values("x")["mean"]
        assert best < given <= worst
    assert any(note.count("Seoul") == 2 for note in picture.notes)


@pytest.mark.parametrize("request_", [FigureOptions(), FigureOptions(networks=(slow(), load_network("lan")))])
def test_the_figure_needs_one_network(request_):
    with pytest.raises(NoData, match=f"{len(request_.networks) or '--network'}"):
        drawings()["network"].draw(both(), request_)


@pytest.fixture
def command(capsys, monkeypatch, tmp_path):
    """Call main() on the archive of ``pair`` and return its output."""
    write_archive(pair(), tmp_path / "archive")
    monkeypatch.chdir(tmp_path)

    def call(*words, main=make_figures.main):
        try:
            code = main(["--results", "archive", *words])
        except SystemExit as stop:
            code = stop.code
        said = capsys.readouterr()
        return CompletedProcess(words, code, said.out, said.err)

    return call


def test_the_command_draws_over_seconds(command, tmp_path):
    done = command("--figure", "curves", "--x", "seconds", "--network", "lan", "--format", "svg")
    assert done.returncode == 0, done.stderr
    assert "--network" not in done.stdout
    lines = (tmp_path / "figures" / "curves.csv").read_text().splitlines()
    assert NETWORK_S in lines[1]


def test_measured_seconds_stay_measured(command):
    done = command("--figure", "curves", "--x", "seconds", "--format", "svg")
    assert done.returncode == 2
    assert mentions(done.stdout, "wall_s", "bytes")  # these runs have no measured time


@pytest.mark.parametrize(
    ("words", "offending"),
    [
        ("--x seconds --network lan wan", ("lan", "wan")),
        ("--cost seconds --network lan wan", ("lan", "wan")),
        ("--network lan wan lan", ("lan",)),
        ("--network citis8", ("citis8", "cities8")),
        ("--x seconds --network nowhere.csv", ("nowhere.csv",)),
    ],
)
def test_rejects_invalid_networks(command, words, offending):
    done = command("--figure", "curves", *words.split())
    assert done.returncode == 2
    assert mentions(done.stderr, *offending)


def test_the_list_of_runs_has_their_seconds():
    results, _ = on_network(pair(), slow())
    table, _ = run_table(results)
    np.testing.assert_allclose(table["seconds (slow links)"], expected(400), rtol=1e-9)


@pytest.mark.thorough
def test_the_report_has_the_seconds_of_every_run(command, tmp_path):
    done = command("--network", "cities8", "--out", "report.html", main=make_report.main)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "report.html").read_text()
    assert "seconds (eight cities)" in page
    assert 'id="table-network_times"' in page
    assert command("--network", "lan", "wan", main=make_report.main).returncode == 2


def test_times_to_a_target_name_methods_without_a_setting_and_the_rule():
    """D-SGD diverged at both stepsizes, so that D-SGT sets the target."""
    gone = [{"algo": "dsgd", "eta": eta, "seed": seed, "state": "nonfinite"} for eta in (300, 600) for seed in range(3)]
    tuned = [{"algo": "dsgt", "eta": eta, "seed": seed} for eta in (0.1, 1.0) for seed in range(3)]
    results = timed([*gone, *tuned, *({"algo": "dnasa", "seed": seed} for seed in range(3))])
    notes = table_makers()["network_times"].make(results, FigureOptions(networks=(slow(),))).notes
    assert any("D-SGD" in note and "diverged" in note for note in notes)
    assert any(note.startswith("best stepsize") for note in notes)
