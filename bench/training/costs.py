"""The costs of a run (seconds, rounds, samples, bytes), and the rows that report them."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

import numpy as np
import torch

from bench.method.algorithm import Algorithm
from bench.network.mixing import Mixing
from bench.problem.problem import Problem
from bench.store.record import COLUMNS, Row

UNREAD = 1000
"""GPU rounds with unread events; beyond this number, the clock reads finished ones without waiting for the others."""


class Span:
    """Adds the seconds of its body to ``spent[part]``. A step has several, and contextlib takes longer."""

    __slots__ = ("_began", "_part", "_spent")

    def __init__(self, spent: dict[str, float], part: str) -> None:
        self._spent, self._part = spent, part

    def __enter__(self) -> None:
        self._began = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self._spent[self._part] += time.perf_counter() - self._began


class Stopwatch:
    """Seconds of computing, communicating and evaluating. Writing results counts as none of them.

    The replicas of a group share its seconds equally. A GPU works asynchronously: events in its queue time its
    communication, and the clock reads them once they are over.
    """

    NAMES = ("compute_s", "comm_s", "eval_s", "wall_s")

    def __init__(self, replicas: int, before: Sequence[Row] | None = None) -> None:
        self._before = before or [dict.fromkeys(self.NAMES, 0.0)] * replicas
        self._spent = {"comm_s": 0.0, "eval_s": 0.0, "paused": 0.0}
        self._events: deque[tuple[torch.cuda.Event, torch.cuda.Event]] = deque()  # of a GPU, not yet read
        self._began = time.perf_counter()

    def timing(self, part: Literal["comm_s", "eval_s", "paused"]) -> Span:
        """Count the seconds of the body as communication, as evaluation, or not at all (``paused``)."""
        return Span(self._spent, part)

    @contextmanager
    def gpu_round(self) -> Iterator[None]:
        """Count the GPU's seconds of the body as communication."""
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        yield
        end.record()
        self._events.append((begin, end))
        while len(self._events) > UNREAD and self._events[0][1].query():
            self._read_event()

    def _read_event(self) -> None:
        begin, end = self._events.popleft()
        self._spent["comm_s"] += begin.elapsed_time(end) / 1000

    def seconds(self) -> list[Row]:
        """Return the seconds of every replica. The caller must have waited for the GPU."""
        while self._events:
            self._read_event()
        wall = time.perf_counter() - self._began - self._spent["paused"]
        compute = wall - self._spent["comm_s"] - self._spent["eval_s"]
        spent = {**self._spent, "compute_s": compute, "wall_s": wall}
        return [{name: old[name] + spent[name] / len(self._before) for name in self.NAMES} for old in self._before]


SHARED = ("round", "samples", "gradients")
SENT = ("rounds", "vectors", "messages", "scalars", "bits")
"""Vectors are per node and neighbor; messages, scalars and bits are those of the whole network."""


def shared_counts(counts: np.ndarray) -> np.ndarray:
    """Return the counts of ``CostCounter.kept`` that are the same for all replicas of a group."""
    return np.delete(counts, slice(len(SHARED), len(SHARED) + len(SENT)))


def reported(counts: np.ndarray) -> Row:
    """Return the columns of a row that show these counts, the first ones of ``CostCounter.kept``."""
    _, samples, gradients, rounds, vectors, _, scalars, bits = map(int, counts)
    sent = {"rounds": rounds, "vectors_sent": vectors, "bytes": bits // 8, "scalars_sent": scalars}
    return {"samples": samples, "gradients": gradients, **sent}


class CostCounter:
    """The costs of the whole network since the start, for every replica.

    Samples and gradients are the same for all replicas. The messages are not: the graphs may differ, and so may the
    steps in which a replica communicates.
    """

    def __init__(self, problem: Problem, mixings: Sequence[Mixing], before: Sequence[np.ndarray] = ()) -> None:
        """A resumed run passes the counts that ``kept`` returned, one array per replica, as ``before``."""
        s = problem.setting
        self._problem, self._batch, self._bits = problem, s.batch_size * s.nodes, 8 * s.dtype.itemsize
        self._mixings, self._nodes = mixings, s.nodes
        alike = all(mixing.bills_alike and mixing.turns == mixings[0].turns for mixing in mixings)
        self._bills = [self._bill(r, 0) for r in range(mixings[0].turns)] if alike else []
        self._alike: dict[tuple[int, int, tuple[int, ...]], int] = {}
        shared, sent = len(SHARED), len(SENT)
        before = before or [np.zeros(shared + sent, dtype=np.int64)] * len(mixings)
        self.round, self._samples, self._gradients = map(int, before[0][:shared])
        self._latest = dict(enumerate(map(int, before[0][shared + sent :])))
        self._sent = np.stack([counts[shared : shared + sent] for counts in before], axis=1)

    def sample(self, s: int, stream: int) -> None:
        """Count a mini-batch gradient on sample ``s``; the sample is new if no later one of its stream was used."""
        self._gradients += self._batch
        if s > self._latest.get(stream, -1):
            self._latest[stream] = s
            self._samples += self._batch

    def all_data(self) -> None:
        """Count a gradient on all data of every node."""
        size = self._problem.epoch_size or self._batch
        self._gradients += size
        self._samples += size

    def sent(self, widths: tuple[int, ...], t: int, when: np.ndarray | None = None, bits: int | None = None) -> None:
        """Count a round of step t in the replicas where ``when`` is true; ``bits`` is a compressed message's size."""
        size = sum(widths) * self._bits if bits is None else bits
        if when is None and self._bills:
            what = self.round % len(self._bills), size, widths
            self._alike[what] = self._alike.get(what, 0) + 1  # most rounds are alike: _total adds them up
        else:
            bill = self._bills[self.round % len(self._bills)] if self._bills else self._bill(self.round, t)
            self._sent += self._cost(bill, size, widths) * (1 if when is None else when)
        self.round += 1

    def node_gradient(self) -> None:
        """Count a mini-batch gradient of one node."""
        self._gradients += self._batch // self._nodes
        self._samples += self._batch // self._nodes

    def message(self, widths: tuple[int, ...], copies: int) -> None:
        """Count a message of one node to ``copies`` receivers. A round is one message of every node, on average."""
        self.round += 1
        numbers, vectors = sum(widths), sum(width // self._problem.layout.size for width in widths)
        self._sent += np.array([0, 0, copies, copies * numbers, copies * numbers * self._bits], dtype=np.int64)[:, None]
        rounds = self.round // self._nodes
        self._sent[:2] = np.array([rounds, rounds * vectors])[:, None]

    def _bill(self, r: int, t: int) -> np.ndarray:
        """Return the counts of a round with one scalar, one vector and one bit, (counts, replicas)."""
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
        """Return the columns of replica ``r``."""
        epoch = self._samples / self._problem.epoch_size if self._problem.epoch_size else None
        return {"epoch": epoch, **reported(self.kept(r)[: len(SHARED) + len(SENT)])}

    def kept(self, r: int) -> np.ndarray:
        """Return all counts of one replica, for a checkpoint."""
        latest = [self._latest.get(stream, -1) for stream in range(1 + max(self._latest, default=-1))]
        return np.array([self.round, self._samples, self._gradients, *self._total()[:, r], *latest], dtype=np.int64)


class RowBuilder:
    """Turns measurements of R replicas into rows, with costs, running means and the bound on the consensus error."""

    def __init__(
        self, algorithm: Algorithm, costs: CostCounter, mixings: Sequence[Mixing], last: Sequence[Row] = ()
    ) -> None:
        self._algorithm, self._costs, self._mixings = algorithm, costs, mixings
        self.last: list[Row] = list(last) or [{} for _ in mixings]  # an empty row: none yet

    def row(self, r: int, t: int, measured: Row, seconds: Row) -> Row:
        """Return the row of replica ``r`` at step t, with its columns in order."""
        last, row = self.last[r], {"step": t, **self._costs.row(r), **measured, **seconds}
        row["grad_norm_mean"] = self._running_mean(last, row)
        row["consensus_bound"] = self._bound(r, last, row)
        self.last[r] = {name: row[name] for name in dict.fromkeys([*COLUMNS, *row])}
        return self.last[r]

    @staticmethod
    def _running_mean(last: Row, row: Row) -> float:
        """Return (1/t) ∫ ‖∇f(x̄)‖ by the trapezoid rule over the evaluated steps."""
        if not last:
            return row["grad_norm"]
        width = row["step"] - last["step"]
        area = last["grad_norm_mean"] * last["step"] + width * (last["grad_norm"] + row["grad_norm"]) / 2
        return area / row["step"]

    def _bound(self, r: int, last: Row, row: Row) -> float | None:
        """Return b_t², an upper bound on the consensus error, with b_{t+1} = ρ (b_t + η_t)."""
        c = self._mixings[r].certificate
        if not self._algorithm.properties.bounded_step or not c.static or not c.symmetric or c.rho is None:
            return None
        if not last:
            return row["consensus"]
        b = last["consensus_bound"] ** 0.5
        for eta in self._algorithm.eta.values[last["step"] : row["step"], r]:
            b = c.rho * (b + eta)
        return float(b**2)
