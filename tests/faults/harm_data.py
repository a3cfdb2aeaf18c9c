"""Data that cannot be what it says: never a traceback, never a number, and the rest of the sweep is made."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from bench.base.registry import datasets
from bench.config.choices import options_of
from bench.problem.arrays import Arrays
from bench.sweep.sweep import run_sweep
from tests.faults.table import fault
from tests.helpers.configs import config

X, Y = np.random.default_rng(0).standard_normal((60, 3)).astype(np.float32), np.arange(60) % 2


def _with(array: np.ndarray, place: int, value: float) -> np.ndarray:
    out = array.copy()
    out[place] = value
    return out


def _raises(error: BaseException) -> Any:
    raise error


BAD = {
    "nan": lambda: Arrays(_with(X, 17, np.nan), Y, X, Y, 2),
    "infinite": lambda: Arrays(X, Y, _with(X, 3, np.inf), Y, 2),
    "lengths": lambda: Arrays(X, Y, X[:50], Y[:47], 2),
    "labels": lambda: Arrays(X, _with(Y, 5, 2), X, Y, 2),
    "negative label": lambda: Arrays(X, Y, X, _with(Y, 5, -1), 2),
    "shapes": lambda: Arrays(X, Y, X[:, :2], Y, 2),
    "empty": lambda: Arrays(X[:0], Y[:0], X, Y, 2),
    "words": lambda: Arrays(X.astype(str), Y, X, Y, 2),
    "no arrays": lambda: {"x": X, "y": Y},
    "raises": lambda: _raises(FileNotFoundError(2, "No such file or directory", "data of mine")),
    "exits": lambda: _raises(SystemExit(3)),
    "no server": lambda: _raises(ConnectionRefusedError(111, "Connection refused")),
}
SENTENCE = "the run fails, the error names the dataset, and the other run is done"


@fault("Data", f"a sweep has a run with an invalid dataset ({len(BAD)} kinds) and a run with a valid one",
       allowed=(SENTENCE,), quick=len(BAD), full=len(BAD))  # fmt: skip
def wrong_data(trials: int, folder: Path) -> Counter[str]:
    seen: Counter[str] = Counter()
    for number, (name, make) in enumerate(list(BAD.items())[:trials]):
        datasets._items["spoilt"] = make
        options_of.cache_clear()
        here = {"results": str(folder / str(number)), "steps": 5, "nodes": 2}
        runs = [config(dataset="spoilt", model="mlp", seed=number, **here), config(dataset="quadratics", **here)]
        try:
            bad, good = run_sweep(runs, Console(quiet=True))
            told = json.loads((bad.path / "status.json").read_text())["error"]
            fine = (bad.state, good.state) == ("failed", "done") and "spoilt" in told and "Traceback" not in told
            seen[SENTENCE if fine else f"{name}: {bad.state}, {good.state}, {told[:100]}"] += 1
        except BaseException as error:
            seen[f"{name}: the sweep ended with {type(error).__name__}: {str(error)[:100]}"] += 1
        finally:
            del datasets._items["spoilt"]
    return seen
