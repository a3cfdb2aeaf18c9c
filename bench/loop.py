"""The one training loop: stacked, batched and MPI runs all pass through here."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from bench.algorithm import Algorithm
from bench.certificate import Mixing
from bench.metrics import COLUMNS, Row, heterogeneity, measure
from bench.problem import Problem
from bench.world import World

Spacing = Literal["linear", "log"]


def evaluation_steps(steps: int, every: int, spacing: Spacing) -> list[int]:
    """The steps to evaluate at; 0 and T always. ``log`` spreads as many points evenly in log t."""
    if spacing == "linear":
        points = np.arange(0, steps, every)
    else:
        points = np.append(0, np.geomspace(1, steps, max(2, steps // every)).round().astype(int))
    return sorted({*map(int, points), 0, steps})


@dataclass(frozen=True)
class Outcome:
    """How one replica ended."""

    state: Literal["done", "diverged"]
    step: int  # the last evaluation: T, or the first one that is not finite


class Observer:
    """Hears what a run has to tell while it is under way. Any method may be overridden, none must."""

    def learn(self, r: int, facts: Row) -> None:
        """What is found out about replica ``r`` before its first step."""

    def record(self, r: int, row: Row) -> None:
        """An evaluation of replica ``r``."""

    def tick(self, t: int) -> None:
        """Step t is done."""


class Stopwatch:
    """Seconds of computing, communicating and evaluating, kept apart; writing results down is none of them."""

    def __init__(self) -> None:
        self.comm = self.evaluating = self.storing = 0.0
        self.began = time.perf_counter()

    @contextmanager
    def evaluation(self) -> Iterator[None]:
        """What happens inside is evaluating."""
        began = time.perf_counter()
        yield
        self.evaluating += time.perf_counter() - began

    def seconds(self) -> Row:
        wall = time.perf_counter() - self.began - self.storing
        return {
            "compute_s": wall - self.comm - self.evaluating,
            "comm_s": self.comm,
            "eval_s": self.evaluating,
            "wall_s": wall,
        }


class Rounds:
    """``mix`` as the algorithm sees it: numbers the rounds and counts what is sent."""

    def __init__(self, world: World, per_step: int, clock: Stopwatch) -> None:
        self._mixer, self._per_step, self._clock = world.mixer, per_step, clock
        self._next = 0

    def begin(self, t: int) -> None:
        self._next = t * self._per_step

    def __call__(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        began = time.perf_counter()
        mixed = self._mixer(self._next, tensors)
        self._next += 1
        self._clock.comm += time.perf_counter() - began
        return mixed


class Bookkeeper:
    """Turns measurements into rows: counts, running means, theory's bound. Knows R replicas."""

    def __init__(self, algorithm: Algorithm, problem: Problem, mixings: Sequence[Mixing]) -> None:
        self._algorithm, self._problem, self._mixings = algorithm, problem, mixings
        self._last: list[Row | None] = [None] * len(mixings)

    def counts(self, r: int, t: int) -> Row:
        """What t steps have cost the whole network."""
        promise, setting = self._algorithm.declaration, self._problem.setting
        per_node = promise.start_samples + promise.samples * t
        samples = per_node * setting.batch_size * setting.nodes
        vector = self._problem.layout.size * setting.dtype.itemsize
        rounds = promise.rounds * t
        return {
            "step": t,
            "epoch": samples / self._problem.epoch_size if self._problem.epoch_size else None,
            "samples": samples,
            "rounds": rounds,
            "vectors": promise.sends * t,
            "bytes": self._mixings[r].directed_edges(rounds) * vector * promise.sends // promise.rounds,
        }

    def row(self, r: int, t: int, measured: Row, seconds: Row) -> Row:
        last = self._last[r]
        row = {**self.counts(r, t), **measured, **seconds}
        row["grad_norm_mean"] = self._running_mean(last, row)
        row["consensus_bound"] = self._bound(r, last, row)
        ordered = {name: row[name] for name in COLUMNS}
        self._last[r] = ordered
        return ordered

    @staticmethod
    def _running_mean(last: Row | None, row: Row) -> float:
        """(1/t) ∫ ‖∇f(x̄)‖ by the trapezoid rule over the evaluated steps."""
        if last is None:
            return row["grad_norm"]
        width = row["step"] - last["step"]
        area = last["grad_norm_mean"] * last["step"] + width * (last["grad_norm"] + row["grad_norm"]) / 2
        return area / row["step"]

    def _bound(self, r: int, last: Row | None, row: Row) -> float | None:
        """b_t² with b_{t+1} = ρ (b_t + η_t): what consensus can never exceed."""
        mixing = self._mixings[r]
        if not self._algorithm.declaration.bounded or mixing.period > 1:
            return None
        if last is None:
            return row["consensus"]
        b = last["consensus_bound"] ** 0.5
        for eta in self._algorithm.eta.values[last["step"] : row["step"], r]:
            b = mixing.certificate.rho * (b + eta)
        return float(b**2)


def train(
    algorithm: Algorithm,
    problem: Problem,
    world: World,
    mixings: Sequence[Mixing],
    steps: int,
    evaluate_at: Sequence[int],
    observer: Observer,
) -> list[Outcome]:
    """Run ``steps`` steps of every replica, and tell the observer.

    A replica whose measurements are no longer finite ends there as diverged, with that last row.
    """
    clock, books = Stopwatch(), Bookkeeper(algorithm, problem, mixings)
    mix = Rounds(world, algorithm.declaration.rounds, clock)
    outcomes: list[Outcome | None] = [None] * len(mixings)
    due = set(evaluate_at)

    def evaluate(t: int, state: Any) -> None:
        if state.x.is_cuda:
            torch.cuda.synchronize()  # the steps before this one are computing, not evaluating
        with clock.evaluation():
            measured = measure(state, problem, world, algorithm.declaration)
        ended = time.perf_counter()
        seconds = {name: value / len(mixings) for name, value in clock.seconds().items()}
        for r, finite in enumerate(measured.finite):
            if outcomes[r] is None:
                observer.record(r, books.row(r, t, measured.row(r), seconds))
                if not finite:
                    outcomes[r] = Outcome("diverged", t)
                elif t == steps:
                    outcomes[r] = Outcome("done", t)
        clock.storing += time.perf_counter() - ended

    state = algorithm.start(problem.start(), problem.grad)
    with clock.evaluation():
        zetas = heterogeneity(state.x, problem, world)
    for r, zeta in enumerate(zetas):
        observer.learn(r, {"heterogeneity": zeta})
    evaluate(0, state)
    for t in range(steps):
        if all(outcomes):
            break
        mix.begin(t)
        state = algorithm.step(state, t, problem.grad, mix)
        observer.tick(t + 1)
        if t + 1 in due:
            evaluate(t + 1, state)
    return [outcome for outcome in outcomes if outcome]
