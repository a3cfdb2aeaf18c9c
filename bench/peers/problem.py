"""The computation to compare: logistic regression on a ring, as hearsay computes it and as arrays for the others."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch

from bench.build.build import build_problem, problem_parts
from bench.build.network import mixing_of
from bench.config.compose import compose_one
from bench.config.run_config import RunConfig
from bench.engine import stacked
from bench.problem.problem import Setting
from bench.problem.rows import without_replacement
from bench.training.observer import Observer, Snapshot

METHODS = {"dsgd": "D-SGD", "dsgt": "gradient tracking"}
CHECKED = 20
"""Steps after which the iterates are compared; at most 63, since hearsay draws 64 mini-batches at once."""
ETA = 0.1
EPOCH = 128
"""Mini-batches per epoch. The shards have a whole number of them, so that all sampling rules agree."""
COMMON = ["algo.schedule=constant", f"algo.eta={ETA}", "topology=ring", "engine=stacked", "tracker=none"]
COMMON += ["dataset=planted", "dataset.tests=64", "eval_samples=64", "model=linear", "loss=logistic"]
COMMON += ["sampling=epochs", "dtype=float64"]


class Result(NamedTuple):
    """The outcome of some steps."""

    ms: float  # per step
    x: np.ndarray  # the iterates of all nodes after the last step, (n, P)


class Clock(Observer):
    """Measures the second half of a number of steps, and keeps the iterates of the last one."""

    def __init__(self, steps: int) -> None:
        self._steps, self._half = steps, steps // 2
        self.ms = 0.0
        self.x = np.empty(0)

    def tick(self, t: int) -> None:
        if t == self._half:
            self._began = time.perf_counter()
        elif t == self._steps:
            self.ms = 1e3 * (time.perf_counter() - self._began) / (self._steps - self._half)

    def checkpoint(self, r: int, moment: Snapshot) -> None:
        self.x = moment.state["x"][0].numpy().copy()


@dataclass(frozen=True)
class Case:
    """The size of the problem."""

    nodes: int
    batch_size: int

    def config(self, method: str, steps: int) -> RunConfig:
        """Return a run whose only checkpoint is at ``steps``, one step before its end."""
        sizes = [f"nodes={self.nodes}", f"batch_size={self.batch_size}"]
        samples = f"dataset.samples={self.nodes * self.batch_size * EPOCH}"
        length = [f"steps={steps + 1}", f"eval_every={steps + 1}", f"checkpoint_every={steps}"]
        return compose_one([f"algo={method}", *COMMON, *sizes, samples, *length])

    def run(self, method: str, steps: int) -> Result:
        """Compute steps with hearsay, in this process."""
        clock = Clock(steps)
        stacked.run([self.config(method, steps)], clock)
        return Result(clock.ms, clock.x)

    @cached_property
    def arrays(self) -> dict[str, np.ndarray]:
        """Data, start, mixing matrix and first mini-batches of hearsay's run. The last feature is 1, for the bias."""
        config, n = self.config("dsgd", 1), self.nodes
        parts = problem_parts(config, [config.seed])
        assert parts is not None, "planted data are arrays"
        data, (shards,), *_ = parts
        features = np.stack([data.train_x[shard] for shard in shards]).astype(np.float64)
        setting = Setting(n, range(n), (config.seed,), self.batch_size, torch.float64, torch.device("cpu"))
        weights = mixing_of(config).at(0).any.dense()
        rows = [without_replacement(config.seed, i, 0, 0, len(shards[i]), self.batch_size) for i in range(n)]
        return {
            "features": np.concatenate([features, np.ones((*features.shape[:2], 1))], axis=2),  # (n, m, P)
            "labels": np.stack([data.train_y[shard] for shard in shards]).astype(np.float64),  # (n, m)
            "start": build_problem(config, setting).start()[0].numpy(),  # (n, P)
            "weights": weights,  # (n, n)
            "rows": np.stack(rows)[:, : CHECKED + 1],  # (n, CHECKED + 1, B)
        }
