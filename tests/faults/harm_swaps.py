"""Files that are whole, but another run's: copied to the wrong place, or a folder restored under another name."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import suppress
from pathlib import Path

from rich.console import Console

from bench.build.manifest import describe
from bench.engine import stacked
from bench.store.run_folder import RunFolder
from bench.sweep.resume import resume_point
from bench.sweep.sweep import run_all
from tests.faults.harm_store import NOTICED, SAME, START, THEME, Killed, Until, numbers
from tests.faults.table import fault
from tests.helpers.configs import config

ENDED = ("metrics.parquet", "summary.json", "manifest.json", "config.yaml", "status.json")
UNDER_WAY = ("metrics.jsonl", "checkpoint", "summary.json", "manifest.json")


def _swap(one: Path, other: Path, names: list[str]) -> None:
    """These files, or folders, change places."""
    for name in names:
        (one / name).rename(one / "aside")
        (other / name).rename(one / name)
        (one / "aside").rename(other / name)


@fault(THEME, "two finished runs swap some or all files", allowed=(NOTICED, SAME),
       quick=12, full=500)  # fmt: skip
def swapped_finals(trials: int, folder: Path) -> Counter[str]:
    seen, chance = Counter[str](), random.Random(16)
    configs = [config(results=str(folder), seed=seed) for seed in (0, 1)]
    assert run_all(configs, Console(quiet=True)) == 0
    one, other = map(RunFolder, configs)
    expected = numbers(folder)
    for trial in range(trials):
        names = list(ENDED) if trial % 4 == 0 else chance.sample(ENDED, chance.randint(1, 4))
        _swap(one.path, other.path, names)
        believed = numbers(folder)
        if believed is not None:
            wrong = not believed.equals(expected) or any(name in names for name in ENDED[:4])
            seen["A WRONG FILE BELIEVED" if wrong else SAME] += 1
        else:
            seen["done for ever, and unreadable" if one.final or other.final else NOTICED] += 1
        _swap(one.path, other.path, names)
        assert one.final
        assert other.final
    return seen


@fault(THEME, "two unfinished runs swap metrics.jsonl, the checkpoints, the JSON files or all of them",
       allowed=(START, NOTICED), quick=4, full=200)  # fmt: skip
def swapped_streams(trials: int, folder: Path) -> Counter[str]:
    seen, chance = Counter[str](), random.Random(16)
    runs = []
    for seed in (0, 1):
        c = config(results=str(folder), eval_every=4, checkpoint_every=10, seed=seed)
        runs.append(RunFolder(c))
        runs[-1].begin(describe(c))
        with suppress(Killed):
            stacked.run([c], Until([runs[-1]], None))  # type: ignore[arg-type]
    one, other = runs
    points = [resume_point(run) for run in runs]
    assert None not in points
    for trial in range(trials):
        names = list(UNDER_WAY) if trial % 4 == 0 else chance.sample(UNDER_WAY, chance.randint(1, 3))
        _swap(one.path, other.path, names)
        gone_on = [resume_point(run) for run in runs]
        believed = numbers(folder)
        if {"metrics.jsonl", "checkpoint"} & set(names):
            seen[START if gone_on == [None, None] else "A WRONG STATE BELIEVED"] += 1
        else:
            seen[NOTICED if believed is None else "A WRONG FILE BELIEVED"] += 1
        _swap(one.path, other.path, names)
        assert [resume_point(run) for run in runs] == points
    return seen
