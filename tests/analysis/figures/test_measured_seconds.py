"""Measured seconds of runs on different machines, or in groups of different sizes, are not comparable."""

import pytest

from analysis.figures import drawings
from analysis.results.archive import read_archive, write_archive
from analysis.study.figure_options import FigureOptions
from analysis.tables import table_makers
from tests.helpers.invented import made

HERE = {"name": "one", "cores": 2, "machine": "x86_64"}


def runs(host, group):
    rows = [
        {"algo": algo, "seed": seed, "eta": eta, "end": 0.1, "train": 0.1, "replicas": 3 if algo == "dsgd" else group}
        for algo in ("dsgd", "dsgt")
        for seed in range(3)
        for eta in (0.1, 0.3, 1.0)
    ]
    facts = [
        {
            "engine": "stacked",
            "device": "cpu",
            "ranks": 1,
            "host": {**HERE, "name": "one" if row["algo"] == "dsgd" else host},
        }
        for row in rows
    ]
    found = made(rows, facts)
    found.rows["wall_s"] = found.rows["step"] / 100
    return found


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize(("host", "group", "said"), [("one", 3, False), ("two", 3, True), ("one", 1, True)])
@pytest.mark.parametrize("name", ["curves", "compare", "profile"])
def test_a_note_says_so(name, host, group, said, stored, tmp_path):
    found = runs(host, group)
    if stored:
        write_archive(found, tmp_path)
        assert "one" not in (tmp_path / "facts.json").read_text(encoding="utf-8")
        found = read_archive(tmp_path)
    picture = drawings()[name].draw(found, FigureOptions(x="wall_s", cost="wall_s"))
    assert any("seconds are not comparable" in note for note in picture.notes) == said


@pytest.mark.parametrize(("host", "said"), [("one", False), ("two", True)])
def test_a_note_says_so_if_they_are_a_metric(host, said):
    found, request = runs(host, 3), FigureOptions(metrics=("wall_s", "test_loss"))
    notes = drawings()["compare"].draw(found, request).notes, table_makers()["final"].make(found, request).notes
    assert [any("seconds are not comparable" in note for note in some) for some in notes] == [said] * 2


@pytest.mark.parametrize(("group", "shared"), [(1, False), (5, True)])
def test_a_time_that_runs_share_has_no_interval(group, shared):
    """Five runs of a group have one measured time, which is not five observations."""
    rows = [
        {"algo": algo, "seed": seed, "end": 0.1 + 0.01 * seed * (algo == "dsgt"), "replicas": group}
        for algo in ("dsgd", "dsgt")
        for seed in range(5)
    ]
    found = made(rows)
    found.rows["wall_s"] = found.rows["step"] / 100 + found.rows["run_id"].str[3:].astype(int) / 1e4
    made_table = table_makers()["final"].table(found, FigureOptions(metrics=("wall_s", "test_loss")))
    assert made_table.data["wall_s_low"].isna().all() == shared
    assert not made_table.data["test_loss_low"].isna().any()
    assert ("reference_minus" not in made_table.data) == shared
    assert any("share one measured time" in note for note in made_table.notes) == shared


@pytest.mark.parametrize("name", ["compare", "profile"])
def test_steps_of_asynchronous_methods_have_a_note(name):
    rows = [
        {"algo": algo, "seed": seed, "eta": eta, "end": 0.1, "train": 0.1}
        for algo in ("dsgd", "adpsgd")
        for seed in range(3)
        for eta in (0.1, 0.3, 1.0)
    ]
    events = [
        {"algorithm": {"name": row["algo"], "events": "pairs" if row["algo"] == "adpsgd" else None}} for row in rows
    ]
    for facts, said in ((events, True), ([{"algorithm": {"name": row["algo"]}} for row in rows], False)):
        notes = drawings()[name].draw(made(rows, facts), FigureOptions(cost="step")).notes
        assert any("nominal time of a gradient" in note for note in notes) == said
