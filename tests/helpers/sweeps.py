"""Small real sweeps for every figure, made once."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterable
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

from rich.console import Console

from bench.config.distinct import unique
from bench.config.plan import of_command
from bench.config.run_config import GROUPS, RunConfig, parse
from bench.sweep.sweep import run_all

HOW = ("engine=stacked", "tracker=none", "jobs=1")
SEEDS = {"seed": [0, 1, 2], "steps": 40, "eval_every": 10}
DIGITS = {"dataset": "digits", **SEEDS}
STREAM = {"dataset.dimension": 10, "dataset.evaluation": 50, **SEEDS}
SPIKE = {"dataset": "spike", "dataset.spike_sd": [10, 100], "nodes": 4, **STREAM}
SHARDS = {"nodes": 4, "batch_size": 4, **DIGITS}
UNEVEN = {"partition": "dirichlet", "partition.alpha": 1, **SHARDS}
TWO = {"topology": ["ring", "complete"]}
SCALED = {"scale": [0.5, 4], **DIGITS}
SWEEPS = {
    "tuned": {"algo": ["dsgd", "dsgt"], "algo.eta": [0.01, 0.1, 1e39], **TWO, **DIGITS},  # 1e39 diverges
    "untuned": {"algo": "dnasa", **TWO, **DIGITS},
    "spike": {"algo": "dsgd", "algo.eta": [1e-5, 1e-4, 1e-3], **SPIKE},
    "spike, untuned": {"algo": "dnasa", **SPIKE},
    "speedup": {"algo": "dnasa", "nodes": [2, 4], "algo.schedule": ["diminishing", "fixed"], **STREAM},
    "rates": {"algo": "dnasa", "nodes": [2, 4], "algo.schedule": "fixed", **STREAM, "steps": 20},
    "scale": {"algo": "dnasa", **SCALED},
    "scale, tuned": {"algo": "dsgd", "algo.eta": 0.1, **SCALED},
    "input_scale": {"algo": "dnasa", "input_scale": [0.5, 4], **DIGITS},
    "input_scale, tuned": {"algo": "dsgd", "algo.eta": 0.1, "input_scale": [0.5, 4], **DIGITS},
    "uneven": {"algo": "dsgd", "algo.eta": 0.1, **UNEVEN},
    "uneven, untuned": {"algo": "dnasa", **UNEVEN},
    "even": {"algo": "dsgd", "algo.eta": 0.1, **SHARDS},
    "even, untuned": {"algo": "dnasa", **SHARDS},
    "released": {"algo": "dnasa", "algo.normalize": "tensor", "algo.average": "gradient", **DIGITS},
}
TWO_OPTIONS = {"algo.eta": [0.01, 0.1], "algo.alpha": [0.1, 0.3, 0.9]}
MORE = {
    "few": {"algo": "dsgd", "algo.eta": [0.1, 1e39], "topology": ["ring", "complete"], **DIGITS},
    "two options": {"algo": "dasagt", "algo.schedule": "constant", **TWO_OPTIONS, **DIGITS},
    "multiplier": {"algo": "dnasa", "algo.multiplier": [0.5, 1, 2], **DIGITS},
    "stream": {"algo": ["dsgd", "dsgt"], "algo.eta": [0.01, 0.1], **STREAM},
}


@cache
def base(dataset: str) -> dict[str, Any]:
    (run,) = of_command([f"dataset={dataset}", *HOW])
    return run.plain()


def runs_of(sweep: dict[str, Any], results: Path) -> list[RunConfig]:
    """All combinations of its values; Hydra composes once per dataset, and not per method and graph."""
    axes = {key: value if isinstance(value, list) else [value] for key, value in sweep.items()}
    out = []
    for point in itertools.product(*axes.values()):
        given = dict(zip(axes, point, strict=True))
        values = {**deepcopy(base(given.pop("dataset", "synthetic"))), "results": str(results)}
        for key, value in sorted(given.items()):  # a member before its options
            group, _, option = key.partition(".")
            if option:
                values[group][option] = value
            else:
                values[key] = {"name": value} if key in GROUPS else value
        out.append(parse(values))
    return out


def runs_of_all(names: Iterable[str], results: Path) -> list[RunConfig]:
    return unique([run for name in names for run in runs_of({**SWEEPS, **MORE}[name], results)])


def make(results: Path, *names: str) -> Path:
    """Run the named sweeps, or all, into a folder."""
    assert run_all(runs_of_all(names or SWEEPS, results), Console(quiet=True), "small sweeps") == 0
    return results


def copied(folder: Path, results: Path, *names: str) -> Path:
    """The runs of these sweeps, out of a folder that has them."""
    for run in runs_of_all(names, results):
        shutil.copytree(folder / "runs" / run.run_id, results / "runs" / run.run_id)
    return results
