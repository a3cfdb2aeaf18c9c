"""No change may alter a trajectory: stacked, batched, resumed and on MPI ranks, against what was kept.

The tolerance is 1e-12 of the largest value of a column: a rule that differs by one part in 10⁹ is seen. What is the
difference of nearly equal numbers, as a disagreement is, is rounded as they are: values below 0.01 count as 0.01.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from bench.method.schedules import Schedule
from tests.helpers.few import few
from tests.reference.cases import METHODS, Watched, cases, counted, group, measured, run, run_in_two_parts

HERE = Path(__file__).parent
KEPT = json.loads((HERE / "trajectories.json").read_text())
COUNTS = json.loads((HERE / "counts.json").read_text())
PLAIN = [name for name in METHODS if " " not in name]
CASES = cases()


def difference(name: str, watched: Watched, r: int = 0, x: bool = True) -> float:
    """The largest of all, each relative to the largest value of its column."""
    kept, rows = KEPT[name], [measured(row) for row in watched.rows[r]]
    assert len(rows) == len(kept["rows"])
    pairs = [(np.array(kept["x"]), np.array(watched.x[r]))] if x else []
    for column in kept["rows"][0]:
        old, new = ([row[column] for row in some] for some in (kept["rows"], rows))
        assert [v is None for v in old] == [v is None for v in new], column
        power = 0.5 if column.startswith("consensus") else 1.0  # squares, of what is rounded as x is
        pairs.append((np.array(old, dtype=float) ** power, np.array(new, dtype=float) ** power))
    return max(
        float(np.nanmax(np.abs(old - new), initial=0) / max(np.nanmax(np.abs(old), initial=0), 1e-2))
        for old, new in pairs
    )


def test_every_case_is_kept():
    assert set(KEPT) == {*CASES, *(f"group {r}" for r in range(len(group())))} == set(COUNTS)


@pytest.mark.parametrize("name", CASES)
def test_trajectories_and_rows_are_those_kept(name):
    watched = run([CASES[name]])
    assert difference(name, watched) <= 1e-12
    assert [counted(row) for row in watched.rows[0]] == COUNTS[name]


def test_a_group_of_replicas():
    watched = run(group())
    for r in range(len(group())):
        assert difference(f"group {r}", watched, r) <= 1e-12
        assert [counted(row) for row in watched.rows[r]] == COUNTS[f"group {r}"]


@pytest.mark.parametrize("name", PLAIN)
def test_a_resumed_run(name, tmp_path):
    assert difference(name, run_in_two_parts(CASES[name], tmp_path)) <= 1e-12


@pytest.mark.xdist_group("mpi")
@pytest.mark.parametrize("name", few([*PLAIN, "dnasa on digits", "dsgd twice"], [*PLAIN, "dsgd twice"]))
def test_ranks(ranks, name):
    watched = Watched()
    ranks.run(CASES[name], watched, checkpoint_every=None)
    assert difference(name, watched, x=False) <= 1e-12
    assert [counted(row) for row in watched.rows[0]] == COUNTS[name]


@pytest.mark.parametrize("name", PLAIN)
def test_one_part_in_a_billion_is_seen(name, monkeypatch):
    """The net has no holes: a stepsize that is off by 10⁻⁹ is caught for every method."""
    plain = Schedule.__getitem__
    monkeypatch.setattr(Schedule, "__getitem__", lambda self, t: plain(self, t) * (1 + 1e-9))
    assert difference(name, run([CASES[name]])) > 1e-12
