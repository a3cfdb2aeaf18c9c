"""What has been spent: seconds, rounds, samples, bytes; and the rows that say so."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

from bench.base.record import COLUMNS, Row
from bench.method.algorithm import Algorithm
from bench.network.mixing import Mixing
from bench.problem.problem import Problem
from bench.training.world import World

UNREAD = 1000
"""Rounds whose events are kept; beyond, those that are over are read without waiting for the others."""


class Stopwatch:
    """Seconds of computing, communicating and evaluating, kept apart; writing results down is none of them.

    A group of replicas shares its seconds: each is given its part. A GPU works later than it is told to: what it
    communicates is timed by events among its other work, and read when that work is done.
    """

    NAMES = ("compute_s", "comm_s", "eval_s", "wall_s")

    def __init__(self, replicas: int, before: Sequence[Row] | None = None) -> None:
        self._before = before or [dict.fromkeys(self.NAMES, 0.0)] * replicas
        self.evaluating = self.storing = 0.0
        self._comm = 0.0
        self._events: deque[tuple[torch.cuda.Event, torch.cuda.Event]] = deque()  # on a GPU: not yet read
        self.began = time.perf_counter()

    @contextmanager
    def communication(self, on_gpu: bool) -> Iterator[None]:
        """What happens inside is communicating."""
        if not on_gpu:
            began = time.perf_counter()
            yield
            self._comm += time.perf_counter() - began
            return
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        yield
        end.record()
        self._events.append((begin, end))
        while len(self._events) > UNREAD and self._events[0][1].query():
            self._read_event()

    def _read_event(self) -> None:
        begin, end = self._events.popleft()
        self._comm += begin.elapsed_time(end) / 1000

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
        """Of every replica; the work of a GPU must have been waited for."""
        while self._events:
            self._read_event()
        wall = time.perf_counter() - self.began - self.storing
        spent = dict(
            zip(self.NAMES, (wall - self._comm - self.evaluating, self._comm, self.evaluating, wall), strict=True)
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
        with self._clock.communication(tensors[0].is_cuda):
            mixed = self._mixer(self._next, tensors)
        self._next += 1
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
