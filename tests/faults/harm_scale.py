"""Thousands at once: every run of a large folder is read as it was written, every configuration is what was typed."""

from __future__ import annotations

import itertools
import json
import os
import random
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from analysis import load
from bench.config.plan import of_command
from bench.store.record import COLUMNS
from tests.faults.table import Seen, fault
from tests.helpers import sweeps
from tests.helpers.many import multiply

THEME = "Large numbers of runs"
RIGHT, NAMED = "the run is read as written, with and without an index", "the flipped bit is reported"
COMPOSED = "the configuration is as typed"


@contextmanager
def measured(seen: Seen, what: str) -> Iterator[None]:
    """Adds to the note how long it took."""
    began, spent = time.perf_counter(), _cpu_s()
    yield
    seen.notes.append(f"{what} {time.perf_counter() - began:.1f} s ({_cpu_s() - spent:.1f} s of CPU time)")


def _cpu_s() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


@fault(THEME, "analysis.load reads a folder in which one run in a hundred has a flipped bit; half of these bits flip "
       "after the index was written, and the files keep their modification times", allowed=(RIGHT, NAMED),
       quick=0, often=300, full=20000)  # fmt: skip
def many_runs(trials: int, folder: Path) -> Seen:
    seen, chance = Seen(), random.Random(16)
    many = multiply(sweeps.make(folder / "few", "tuned", "untuned"), folder / "many", trials)
    names = sorted(run.name for run in (many / "runs").iterdir())
    harmed = chance.sample(names, trials // 100)
    early, late = harmed[::2], harmed[1::2]
    expected = {name: _written(many / "runs" / name) for name in names}
    _flip(many, early, chance)
    with measured(seen, "loading all without an index took"):
        cold = load(many)
    with measured(seen, "with an index"):
        warm = load(many)
    _flip(many, late, chance)
    for name, first, last in zip(names, _read(cold, names), _read(load(many), names), strict=True):
        both = [(first, name in early), (last, name in harmed)]
        good = all((found is None) if hurt else _same(found, expected[name]) for found, hurt in both)
        seen[("A WRONG NUMBER BELIEVED", RIGHT, NAMED)[good + (good and name in harmed)]] += 1
    assert warm.equals(cold)
    assert cold.attrs["unreadable"] == sorted(early)
    return seen


def _flip(results: Path, names: list[str], chance: random.Random) -> None:
    """A bit in the metrics of each, in place, with the time of change that the file had."""
    for name in names:
        path = results / "runs" / name / "metrics.parquet"
        state, content = path.stat(), bytearray(path.read_bytes())
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        path.write_bytes(content)
        os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))


def _written(run: Path) -> tuple[object, np.ndarray]:
    config = json.loads((run / "config.yaml").read_text())
    return (config["seed"], config["algo"]["name"], config["algo"].get("eta")), _metrics(
        pq.read_table(run / "metrics.parquet").to_pandas()
    )


def _metrics(table: pd.DataFrame) -> np.ndarray:
    return table[COLUMNS].to_numpy(dtype=float)


def _read(table: pd.DataFrame, names: list[str]) -> Iterator[tuple[object, np.ndarray] | None]:
    """What a table says of each run: seed, method, stepsize, and all metrics."""
    numbers, labels = _metrics(table), table[["seed", "algo", "eta"]].to_numpy(dtype=object)
    where = table.groupby("run_id", sort=False).indices
    for name in names:
        rows = where.get(name)
        yield None if rows is None else (tuple(labels[rows[0]]), numbers[rows])


def _same(found: tuple[object, np.ndarray] | None, expected: tuple[object, np.ndarray]) -> bool:
    if found is None:
        return False
    (seed, algo, eta), (seed_then, algo_then, eta_then) = found[0], expected[0]  # type: ignore[misc]
    labels = (seed, algo) == (seed_then, algo_then) and (eta == eta_then or (eta_then is None and pd.isna(eta)))
    return labels and np.array_equal(found[1], expected[1], equal_nan=True)


@fault(THEME, "one command with -m gives two methods, two graphs, 25 stepsizes and 50 seeds", allowed=(COMPOSED,),
       quick=0, often=1000, full=5000)  # fmt: skip
def many_configurations(trials: int, folder: Path) -> Seen:
    seen = Seen()
    etas = [round(0.01 * 1.2**number, 6) for number in range(25)]
    seeds = range(-(-trials // 100))
    words = ["algo=dsgd,dsgt", "topology=ring,complete", f"algo.eta={','.join(map(str, etas))}"]
    with measured(seen, "composing all took"):
        runs = of_command([*words, f"seed=range({len(seeds)})", f"results={folder}"])
    typed = itertools.product(("dsgd", "dsgt"), ("ring", "complete"), etas, seeds)
    for run, wanted in zip(runs, typed, strict=True):
        labels = run.labels()
        got = tuple(labels[name] for name in ("algo", "topology", "eta", "seed"))
        seen[COMPOSED if got == wanted else f"{wanted} became {got}"] += 1
    assert len({run.run_id for run in runs}) == len(runs)
    return seen
