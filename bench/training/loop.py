"""The one training loop: stacked, batched and MPI runs all pass through here."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from bench.base.columns import COLUMNS
from bench.base.registry import UserError
from bench.method.algorithm import Algorithm
from bench.network.certificate import Mixing
from bench.problem.problem import Problem
from bench.training.metrics import Row, heterogeneity, measure
from bench.training.world import World

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

    state: str  # of bench.base.states.FINAL; in this loop done or diverged
    step: int  # the last evaluation: T, or the first one that is not finite


@dataclass(frozen=True)
class Moment:
    """A run between two steps: all it takes to go on from there."""

    step: int
    state: Mapping[str, Tensor]  # every field of the algorithm's state, (R, k, …), of the hosted nodes
    seconds: list[Row]  # that every replica has spent so far
    last: list[Row]  # the latest row of every replica

    def only(self, replicas: Sequence[int]) -> Moment:
        """The same for some of the replicas."""
        keep = list(replicas)
        state = {name: tensor[keep] for name, tensor in self.state.items()}
        return Moment(self.step, state, [self.seconds[r] for r in keep], [self.last[r] for r in keep])


class Observer:
    """Hears what a run has to tell while it is under way. Any method may be overridden, none must."""

    def learn(self, r: int, facts: Row) -> None:
        """What is found out about replica ``r`` before its first step."""

    def record(self, r: int, row: Row) -> None:
        """An evaluation of replica ``r``."""

    def end(self, r: int, outcome: Outcome) -> None:
        """Replica ``r`` has made its last evaluation."""

    def tick(self, t: int) -> None:
        """Step t is done."""

    def wait(self, reason: str) -> None:
        """Nothing happens for a while, and why."""

    def checkpoint(self, r: int, moment: Moment) -> None:
        """A good time to note where replica ``r`` stands; the moment is its alone."""


class Stopwatch:
    """Seconds of computing, communicating and evaluating, kept apart; writing results down is none of them.

    A group of replicas shares its seconds: each is given its part.
    """

    NAMES = ("compute_s", "comm_s", "eval_s", "wall_s")

    def __init__(self, replicas: int, before: Sequence[Row] | None = None) -> None:
        self._before = before or [dict.fromkeys(self.NAMES, 0.0)] * replicas
        self.comm = self.evaluating = self.storing = 0.0
        self.began = time.perf_counter()

    @contextmanager
    def evaluation(self) -> Iterator[None]:
        """What happens inside is evaluating."""
        began = time.perf_counter()
        yield
        self.evaluating += time.perf_counter() - began

    @contextmanager
    def pause(self) -> Iterator[None]:
        """What happens inside is nobody's business."""
        began = time.perf_counter()
        yield
        self.storing += time.perf_counter() - began

    def seconds(self) -> list[Row]:
        """Of every replica."""
        wall = time.perf_counter() - self.began - self.storing
        spent = dict(
            zip(self.NAMES, (wall - self.comm - self.evaluating, self.comm, self.evaluating, wall), strict=True)
        )
        return [{name: old[name] + spent[name] / len(self._before) for name in self.NAMES} for old in self._before]


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

    def __init__(
        self, algorithm: Algorithm, problem: Problem, mixings: Sequence[Mixing], last: Sequence[Row] = ()
    ) -> None:
        self._algorithm, self._problem, self._mixings = algorithm, problem, mixings
        self.last: list[Row] = list(last) or [{} for _ in mixings]  # an empty row: none yet

    def counts(self, r: int, t: int) -> Row:
        """What t steps have cost the whole network."""
        promise, setting = self._algorithm.promise, self._problem.setting
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
        last = self.last[r]
        row = {**self.counts(r, t), **measured, **seconds}
        row["grad_norm_mean"] = self._running_mean(last, row)
        row["consensus_bound"] = self._bound(r, last, row)
        ordered = {name: row[name] for name in dict.fromkeys([*COLUMNS, *row])}
        self.last[r] = ordered
        return ordered

    @staticmethod
    def _running_mean(last: Row, row: Row) -> float:
        """(1/t) ∫ ‖∇f(x̄)‖ by the trapezoid rule over the evaluated steps."""
        if not last:
            return row["grad_norm"]
        width = row["step"] - last["step"]
        area = last["grad_norm_mean"] * last["step"] + width * (last["grad_norm"] + row["grad_norm"]) / 2
        return area / row["step"]

    def _bound(self, r: int, last: Row, row: Row) -> float | None:
        """b_t² with b_{t+1} = ρ (b_t + η_t): what consensus can never exceed."""
        mixing = self._mixings[r]
        if not self._algorithm.promise.bounded or mixing.period > 1 or mixing.certificate.biased:
            return None
        if not last:
            return row["consensus"]
        b = last["consensus_bound"] ** 0.5
        for eta in self._algorithm.eta.values[last["step"] : row["step"], r]:
            b = mixing.certificate.rho * (b + eta)
        return float(b**2)


def fitting(moment: Moment, fresh: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """The state of a moment, if it can be one of the method that starts like this."""
    shapes, expected = ({name: tuple(t.shape) for name, t in s.items()} for s in (moment.state, fresh))
    if shapes != expected:
        raise UserError(
            f"The checkpoint at step {moment.step} is not one of this run: it holds {shapes}, and {expected} was "
            "expected. force=true starts again."
        )
    return moment.state


def _start(problem: Problem, replicas: int) -> Tensor:
    x, wanted = problem.start(), (replicas, len(problem.setting.hosted), problem.layout.size)
    if x.shape != wanted:
        raise UserError(f"The problem's start has shape {tuple(x.shape)}; replicas, nodes, parameters are {wanted}.")
    return x


def train(
    algorithm: Algorithm,
    problem: Problem,
    world: World,
    mixings: Sequence[Mixing],
    steps: int,
    evaluate_at: Sequence[int],
    observer: Observer,
    begin: Moment | None = None,
    checkpoint_every: int | None = None,
    thin: bool = False,
) -> tuple[list[Outcome | None], Moment]:
    """Run every replica to its last step, from the start or from a moment, and tell the observer.

    A replica whose measurements are no longer finite ends there as diverged, with that last row. With
    ``thin``, everything stops once half of the replicas have: the others have no outcome yet, and can
    go on from the moment that is returned without the weight of the dead.
    """
    clock = Stopwatch(len(mixings), begin.seconds if begin else None)
    books = Bookkeeper(algorithm, problem, mixings, begin.last if begin else ())
    mix = Rounds(world, algorithm.promise.rounds, clock)
    outcomes: list[Outcome | None] = [None] * len(mixings)
    due = set(evaluate_at)

    def evaluate(t: int) -> None:
        if state.x.is_cuda:
            torch.cuda.synchronize()  # the steps before this one are computing, not evaluating
        with clock.evaluation():
            measured = measure(state, problem, world, algorithm.promise)
        seconds = clock.seconds()
        with clock.pause():
            for r, finite in enumerate(measured.finite):
                if outcomes[r] is None:
                    observer.record(r, books.row(r, t, measured.row(r), seconds[r]))
                    if not finite or t == steps:
                        outcomes[r] = outcome = Outcome("done" if finite else "diverged", t)
                        observer.end(r, outcome)

    def now(t: int) -> Moment:
        return Moment(t, state._asdict(), clock.seconds(), books.last)

    def grad(x: Tensor, s: int, stream: int = 0) -> Tensor:
        g = problem.grad(x, s, stream)
        if g.shape != x.shape:  # what can be broadcast would go on with wrong numbers
            raise UserError(f"The problem's gradient at x of shape {tuple(x.shape)} has shape {tuple(g.shape)}.")
        return g

    state: Any = algorithm.start(_start(problem, len(mixings)), grad)
    if begin:
        state = type(state)(**fitting(begin, state._asdict()))
    else:
        with clock.evaluation():
            zetas = heterogeneity(state.x, problem, world)
        for r, zeta in enumerate(zetas):
            observer.learn(r, {"heterogeneity": zeta})
        evaluate(0)
    t = begin.step if begin else 0
    while t < steps and not all(outcomes):
        mix.begin(t)
        state = algorithm.step(state, t, grad, mix)
        t += 1
        observer.tick(t)
        if t in due:
            evaluate(t)
            if thin and 2 * sum(outcome is not None for outcome in outcomes) >= len(outcomes):
                break
        if checkpoint_every and t % checkpoint_every == 0 and t < steps:
            with clock.pause():
                moment = now(t)
                for r in (r for r, outcome in enumerate(outcomes) if outcome is None):
                    observer.checkpoint(r, moment.only([r]))
    return outcomes, now(t)
