"""Which runs are held fast, and how one looks at them.

Of every case: X after every 20 steps, seen along two fixed directions by every node, and the measured columns of
every evaluation. What is counted (samples, rounds, bytes) is kept apart: a better count is not another trajectory.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.base.randomness import EVERYONE, generator
from bench.config.run_config import RunConfig
from bench.engine import stacked
from bench.store.record import Row
from bench.training import checkpoint
from bench.training.checkpoint import Resume
from bench.training.observer import Snapshot
from tests.helpers.configs import Kept, config

STEPS, EVERY = 200, 20
COUNTS = ("step", "epoch", "samples", "rounds", "vectors_sent", "bytes")
SECONDS = ("compute_s", "comm_s", "eval_s", "wall_s")
METHODS: dict[str, dict[str, Any]] = {
    "dnasa": {"name": "dnasa"},
    "dnasa fixed": {"name": "dnasa", "schedule": "fixed", "multiplier": 2.0},
    "dnasa constant": {"name": "dnasa", "schedule": "constant", "multiplier": 0.01, "alpha": 0.2},
    "dnasa released": {"name": "dnasa", "normalize": "tensor", "average": "gradient"},
    "dsgd": {"name": "dsgd", "eta": 0.02},
    "dsgd twice": {"name": "dsgd", "eta": 0.02, "gossip": "twice"},
    "dsgt": {"name": "dsgt", "eta": 0.02},
    "dsgt twice fixed": {"name": "dsgt", "eta": 0.02, "gossip": "twice", "schedule": "fixed"},
    "dasagt": {"name": "dasagt", "eta": 0.1},
    "dasagt gradient": {"name": "dasagt", "eta": 0.05, "average": "gradient", "schedule": "fixed"},
    "d2": {"name": "d2", "eta": 0.02},
}
GRAPHS = ("ring", "random", "ladder", "one_peer_exponential")
PROBLEMS: dict[str, dict[str, Any]] = {
    "synthetic": {"name": "synthetic", "dimension": 10, "evaluation": 100},
    "spike": {"name": "spike", "dimension": 10, "evaluation": 100},
    "quadratics": {"name": "quadratics"},
    "digits": {"name": "digits"},
}


def cases() -> dict[str, RunConfig]:
    """Every method with its options on one problem; the five on four problems and four graphs."""
    out = {name: _config(method, "ring", "synthetic") for name, method in METHODS.items()}
    plain = [name for name in METHODS if " " not in name]
    for problem in ("spike", "quadratics", "digits"):
        out |= {f"{name} on {problem}": _config(METHODS[name], "random", problem) for name in plain}
    for graph in ("ladder", "one_peer_exponential"):
        names = [name for name in plain if name != "d2" or graph == "ladder"]  # d2 wants one matrix
        out |= {f"{name} on {graph}": _config(METHODS[name], graph, "synthetic") for name in names}
    return out


def group() -> list[RunConfig]:
    """Replicas of one program: stepsizes, seeds and graphs of their own."""
    return [
        _config({"name": "dsgt", "eta": eta}, graph, "digits", seed=seed)
        for eta, graph, seed in ((0.01, "ring", 0), (0.05, "ladder", 1), (0.2, "random", 0))
    ]


def _config(method: dict[str, Any], graph: str, problem: str, **more: Any) -> RunConfig:
    topology = {"name": graph, "lazy": method["name"] == "d2"}
    return config(
        algo=method, topology=topology, dataset=PROBLEMS[problem], nodes=8, steps=STEPS, eval_every=40,
        checkpoint_every=EVERY, **more,
    )  # fmt: skip


class Watched(Kept):
    """Keeps rows and what is seen of X; writes checkpoints where it is given folders, and stops where it is told."""

    def __init__(self, replicas: int = 1, folders: Sequence[Path] = (), stop: int | None = None) -> None:
        super().__init__(replicas)
        self.x: list[list[list[list[float]]]] = [[] for _ in range(replicas)]
        self._folders, self._stop = folders, stop

    def checkpoint(self, r: int, moment: Snapshot) -> None:
        self.x[r].append(seen(moment.state["x"][0].cpu().numpy()))
        if self._folders:
            checkpoint.write(self._folders[r], moment, range(len(moment.state["x"][0])))

    def tick(self, t: int) -> None:
        if t == self._stop:
            raise KeyboardInterrupt


def seen(x: np.ndarray) -> list[list[float]]:
    """(nodes, P) along two directions that do not depend on anything."""
    directions = generator(0, EVERYONE, "reference").standard_normal((x.shape[1], 2))
    return (x @ directions / x.shape[1] ** 0.5).tolist()


def measured(row: Row) -> Row:
    return {name: value for name, value in row.items() if name not in (*COUNTS, *SECONDS)}


def counted(row: Row) -> Row:
    return {name: row[name] for name in COUNTS}


def run(configs: Sequence[RunConfig]) -> Watched:
    """Replicas of one program, from start to end."""
    watched = Watched(len(configs))
    stacked.run(configs, watched)
    return watched


def run_in_two_parts(one: RunConfig, folder: Path, stop: int = 110) -> Watched:
    """Interrupted after ``stop`` steps, and resumed from the checkpoint before that."""
    first = Watched(folders=[folder], stop=stop)
    try:
        stacked.run([one], first)
    except KeyboardInterrupt:
        step = stop - stop % EVERY
    rows = [row for row in first.rows[0] if row["step"] <= step]
    rest = Watched()
    stacked.run([one], rest, Resume(step, [folder], [rows[-1]]))
    whole = Watched()
    whole.rows, whole.x = [[*rows, *rest.rows[0]]], [[*first.x[0], *rest.x[0]]]
    return whole
