"""What has been spent: seconds, rounds, samples, bytes; and the rows that say so."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from bench.method.algorithm import Algorithm
from bench.network.mixing import Mixing
from bench.problem.problem import Problem
from bench.store.record import COLUMNS, Row

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

    def begin_round(self, on_gpu: bool) -> Any:
        """From here to ``end_round``, which is given what this returns, is communicating."""
        if not on_gpu:
            return time.perf_counter()
        begin = torch.cuda.Event(enable_timing=True)
        begin.record()
        return begin

    def end_round(self, began: Any) -> None:
        if isinstance(began, float):
            self._comm += time.perf_counter() - began
            return
        end = torch.cuda.Event(enable_timing=True)
        end.record()
        self._events.append((began, end))
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
        """Excluded from all timers."""
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


class CostCounter:
    """What has been spent since the start, counted where it happens; of the whole network, for every replica.

    Samples and gradients are the same for all replicas. What is sent is not: graphs differ, and so may who talks.
    """

    def __init__(self, problem: Problem, mixings: Sequence[Mixing], before: Sequence[np.ndarray] = ()) -> None:
        """``before`` holds what ``kept`` gave for every replica where the run goes on."""
        s = problem.setting
        self._problem, self._batch, self._bits = problem, s.batch_size * s.nodes, 8 * s.dtype.itemsize
        self._mixings = mixings
        alike = all(mixing.bills_alike and mixing.turns == mixings[0].turns for mixing in mixings)
        self._bills = [self._bill(r, 0) for r in range(mixings[0].turns)] if alike else []
        shared = list(map(int, before[0][: len(SHARED)])) if len(before) else [0] * len(SHARED)
        self.round, self._samples, self._gradients = shared
        self._latest = dict(enumerate(map(int, before[0][len(SHARED) + len(SENT) :]))) if len(before) else {}
        self._sent = np.zeros((len(SENT), len(mixings)), dtype=np.int64)
        self._alike: dict[tuple[int, int, tuple[int, ...]], int] = {}
        if len(before):
            self._sent = np.stack([counts[len(SHARED) : len(SHARED) + len(SENT)] for counts in before], axis=1)

    def sample(self, s: int, stream: int) -> None:
        """A mini-batch gradient on sample ``s``: a new sample only where none as late was used."""
        self._gradients += self._batch
        if s > self._latest.get(stream, -1):
            self._latest[stream] = s
            self._samples += self._batch

    def all_data(self) -> None:
        """A gradient on all that every node holds."""
        size = self._problem.epoch_size or self._batch
        self._gradients += size
        self._samples += size

    def sent(self, widths: tuple[int, ...], t: int, when: np.ndarray | None = None, bits: int | None = None) -> None:
        """A round of step t with tensors of these widths, in the replicas that talk; ``bits`` if they are packed."""
        size = sum(widths) * self._bits if bits is None else bits
        if when is None and self._bills:
            what = self.round % len(self._bills), size, widths
            self._alike[what] = self._alike.get(what, 0) + 1  # rounds are many and alike: added up when asked
        else:
            bill = self._bills[self.round % len(self._bills)] if self._bills else self._bill(self.round, t)
            self._sent += self._cost(bill, size, widths) * (1 if when is None else when)
        self.round += 1

    def _bill(self, r: int, t: int) -> np.ndarray:
        """(counts, replicas) of a round of one number that is one vector and one bit."""
        bills = [mixing.bill(r, t) for mixing in self._mixings]
        return np.array([(1, 1, sent, copies, copies) for sent, copies in bills], dtype=np.int64).T

    def _cost(self, bill: np.ndarray, bits: int, widths: tuple[int, ...]) -> np.ndarray:
        numbers, vectors = sum(widths), sum(width // self._problem.layout.size for width in widths)
        return bill * np.array([1, vectors, 1, numbers, bits], dtype=np.int64)[:, None]

    def _total(self) -> np.ndarray:
        for (turn, bits, widths), times in self._alike.items():
            self._sent += self._cost(self._bills[turn], bits, widths) * times
        self._alike.clear()
        return self._sent

    def row(self, r: int) -> Row:
        rounds, vectors, _, scalars, bits = map(int, self._total()[:, r])
        epoch = self._samples / self._problem.epoch_size if self._problem.epoch_size else None
        sent = {"rounds": rounds, "vectors_sent": vectors, "bytes": bits // 8, "scalars_sent": scalars}
        return {"epoch": epoch, "samples": self._samples, "gradients": self._gradients, **sent}

    def kept(self, r: int) -> np.ndarray:
        """All of it for one replica, as a row of whole numbers: for a checkpoint."""
        latest = [self._latest.get(stream, -1) for stream in range(1 + max(self._latest, default=-1))]
        return np.array([self.round, self._samples, self._gradients, *self._total()[:, r], *latest], dtype=np.int64)


SHARED = ("round", "samples", "gradients")
SENT = ("rounds", "vectors", "messages", "scalars", "bits")
"""Vectors are per node and neighbor; messages, scalars and bits are those of the whole network."""


class RowBuilder:
    """Turns measurements into rows: counts, running means, theory's bound. Knows R replicas."""

    def __init__(
        self, algorithm: Algorithm, costs: CostCounter, mixings: Sequence[Mixing], last: Sequence[Row] = ()
    ) -> None:
        self._algorithm, self._costs, self._mixings = algorithm, costs, mixings
        self.last: list[Row] = list(last) or [{} for _ in mixings]  # an empty row: none yet

    def row(self, r: int, t: int, measured: Row, seconds: Row) -> Row:
        last = self.last[r]
        row = {"step": t, **self._costs.row(r), **measured, **seconds}
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
        c = mixing.certificate
        if not self._algorithm.properties.bounded_step or not c.static or not c.symmetric or c.rho is None:
            return None
        if not last:
            return row["consensus"]
        b = last["consensus_bound"] ** 0.5
        for eta in self._algorithm.eta.values[last["step"] : row["step"], r]:
            b = c.rho * (b + eta)
        return float(b**2)
