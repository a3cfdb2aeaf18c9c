"""Settings with other seeds, runs without the metric, and methods that never decrease: no number of a wrong mean."""

import numpy as np
import pytest
from scipy import stats

from analysis.drawing.bands import bands
from analysis.figures import drawings
from analysis.results.errors import NoData
from analysis.study.figure_options import FigureOptions
from analysis.tables import table_makers
from tests.helpers.invented import made

pytestmark = pytest.mark.xdist_group("figures")


def tuned(algo, ends, seeds=(0, 1, 2), **labels):
    """Runs with the stepsizes of ``ends`` and what they end with."""
    return [
        {"algo": algo, "eta": eta, "seed": seed, "end": end, **labels} for eta, end in ends.items() for seed in seeds
    ]


def draw(name, rows, **request):
    return drawings()[name].picture(made(rows), FigureOptions(**request))


@pytest.mark.parametrize(("ours", "theirs"), [((0, 1, 2), (3, 4, 5)), ((0,), (1,))])
def test_settings_without_a_common_seed_have_no_mean(ours, theirs):
    rows = [*tuned("dsgt", {0.01: 2.0}, ours), *tuned("dsgt", {1.0: 0.2}, theirs), *tuned("dnasa", {1: 0.3}, range(6))]
    table = table_makers()["final"].make(made(rows), FigureOptions())
    (row,) = table.data[table.data["algo"] == "dsgt"].to_dict("records")
    assert np.isnan(row["test_loss"])
    assert row["runs"] == len(ours) + len(theirs)
    (row,) = table.data[table.data["algo"] == "dnasa"].to_dict("records")
    assert row["test_loss"] == pytest.approx(0.3)


def test_a_single_setting_that_diverged_keeps_its_accuracy():
    rows = [{**row, "state": "diverging", "accuracy": 50.0} for row in tuned("dsgt", {1.0: 9.0})]
    rows += [{**row, "accuracy": 90.0} for row in tuned("dnasa", {1: 0.3})]
    table = table_makers()["final"].make(made(rows), FigureOptions())
    assert table.data.set_index("algo")["test_accuracy"].to_dict() == {"dsgt": 50.0, "dnasa": 90.0}


@pytest.mark.parametrize("lacking", [0, 3])
def test_a_point_with_runs_that_lack_the_metric_is_not_drawn(lacking):
    values = np.linspace(0.1, 0.5, 8)
    rows = [
        {**row, "end": values[row["seed"]], "validation": np.nan if row["seed"] < lacking else values[row["seed"]]}
        for row in tuned("dsgt", {0.1: 0, 1.0: 0}, range(8))
    ]
    with bands("ci"):
        picture = draw("stepsize", rows, metrics=("val_accuracy",))
    (point, _) = picture.data.to_dict("records")
    if lacking:
        assert np.isnan([point["mean"], point["low"], point["high"]]).all()
        assert any("(6)" in note for note in picture.notes)
    else:
        half = stats.t.ppf(0.975, 7) * values.std(ddof=1) / np.sqrt(8)
        assert (point["mean"], point["high"]) == (pytest.approx(values.mean()), pytest.approx(values.mean() + half))
        assert not any("(6)" in note for note in picture.notes)


def test_a_method_that_never_decreases_sets_no_target():
    bad = tuned("dsgd", {0.1: 2.0, 1.0: 3.0, 10.0: 4.0}, range(4), train=1.5)
    good = tuned("dsgt", {0.1: 0.5, 1.0: 0.4, 10.0: 0.3}, range(4), train=0.5)
    with pytest.raises(NoData, match="decreases"):
        draw("profile", [*bad, *good])
    last = [{**row, "train": 0.9 if row["seed"] == 3 else 1.5} for row in bad]
    picture = draw("profile", [*last, *good])
    assert set(picture.runs) == {f"run{k}" for k, row in enumerate([*last, *good]) if row["seed"] == 3}
    assert any(note.startswith("3 seeds") for note in picture.notes)
    assert set(picture.data.groupby(["rule", "algo"])["mean"].max()) == {1.0}
