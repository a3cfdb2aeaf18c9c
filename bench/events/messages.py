"""Events of methods that send messages: ``messages`` never waits, ``one_late`` waits for those of the last step."""

from __future__ import annotations

import numpy as np

from bench.events.arcs import TimedArcs, uniform
from bench.events.rows import Drawn, Kind, Rows, Sends


def messages(
    arcs: TimedArcs, durations: list[np.ndarray], seed: int, end: int, lost: float, sends: Sends | None = None
) -> Drawn:
    """Return the events of nodes that compute without waiting and send every gradient's result to all neighbors.

    With ``sends``, they send only after some gradients.

    An arc transfers one message at a time. The newest message that waits for the arc replaces older ones. A message is
    lost with probability ``lost``, with the key (seed, source, target, number).
    """
    ends = [np.cumsum(each) for each in durations]
    pending = np.array([each[-1] for each in ends])
    ends = [each[:-1] for each in ends]
    rows = [gradients(i, each, durations[i][:-1]) for i, each in enumerate(ends)]
    losses, replacements, unsent, skipped = [], [], [], [np.zeros((0, 2), dtype=np.int64)]
    numbers = [np.arange(len(each)) for each in ends]
    spoken = [each if sends is None else each[sends(each)] for each in numbers]
    shortest = [int(np.diff(own[told]).min(initial=end)) for own, told in zip(ends, spoken, strict=True)]
    columns = (each.tolist() for each in (arcs.source, arcs.target, arcs.delay, arcs.transfer))
    for j, i, delay, transfer in zip(*columns, strict=True):
        sent, number = ends[j], spoken[j]
        begins = sent[number]
        unsent.append(np.delete(sent, number))
        if transfer > shortest[j]:
            every = begins
            place, begins = _queue(every, transfer)
            other = np.setdiff1d(np.arange(len(every)), place, assume_unique=True)
            replacements.append(every[other + 1])
            other = other[replacements[-1] <= end]
            skipped.append(np.stack([np.full(len(other), j), number[other]], axis=1))
            number = number[place]
        if lost:
            gone = uniform(seed, j, f"message loss {i}", len(sent))[number] < lost
            losses.append(begins[gone])
            number, begins = number[~gone], begins[~gone]
        rows.append(Rows(Kind.DELIVER, begins + delay, i, j, number, sent[number]))
    degree = np.bincount(arcs.source, minlength=arcs.nodes)
    gone = [_until(each, end) for each in (losses, replacements, unsent)]
    return Drawn(rows, pending, degree, gone[0], gone[1], gone[2], np.concatenate(skipped))


def gradients(node: int, ends: np.ndarray, lasted: np.ndarray) -> Rows:
    """Return the rows of gradients that do not wait, from their ends and their durations."""
    return Rows(Kind.GRADIENT, ends, node, -1, np.arange(len(ends)), ends - lasted)


def _queue(sent: np.ndarray, transfer: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of the messages that an arc transfers, and when their transfers begin."""
    times, count = sent.tolist(), len(sent)
    numbers, begins = [], []
    k = free = 0
    while k < count:
        begin = max(free, times[k])
        numbers.append(k)
        begins.append(begin)
        free = begin + transfer
        k += 1
        while k + 1 < count and times[k + 1] <= free:
            k += 1
    return np.array(numbers, dtype=np.int64), np.array(begins, dtype=np.int64)


def _until(times: list[np.ndarray], end: int) -> np.ndarray:
    """Return all times until the end, sorted."""
    every = np.sort(np.concatenate([np.zeros(0, dtype=np.int64), *times]))
    return every[: np.searchsorted(every, end, side="right")]


def one_late(arcs: TimedArcs, durations: list[np.ndarray], end: int) -> Drawn:
    """Return the events of nodes that compute gradient k and then wait for the messages of gradient k − 1.

    A node takes in these messages when it has all of them, and sends the next one. An arc transfers one message at a
    time, and no message is replaced.
    """
    n, beyond = arcs.nodes, end + 1
    lasted = np.full((max(map(len, durations)), n), beyond)
    for i, each in enumerate(durations):
        lasted[: len(each), i] = each
    first = np.flatnonzero(np.diff(arcs.target, prepend=-1))
    receivers = arcs.target[first]
    now, free = np.zeros(n, dtype=np.int64), np.zeros(len(arcs.source), dtype=np.int64)
    times, ready, sent = [], [], []
    for k, each in enumerate(lasted):
        computed = np.minimum(now + each, beyond)
        after = computed.copy()
        if k and len(first):
            begin = np.maximum(now[arcs.source], free)
            free = np.minimum(begin + arcs.transfer, beyond)
            arrived = np.minimum(begin + arcs.delay, beyond)
            after[receivers] = np.maximum(after[receivers], np.maximum.reduceat(arrived, first))
        sent.append(now)
        ready.append(computed)
        times.append(after)
        now = after
        if now.min() > end:
            break
    return _late_rows(arcs, np.array(times), np.array(ready), np.array(sent), end)


def _late_rows(arcs: TimedArcs, times: np.ndarray, computed: np.ndarray, begins: np.ndarray, end: int) -> Drawn:
    """Return the rows of ``one_late`` from the times of all gradients, (K, n)."""
    n, numbers = arcs.nodes, np.arange(len(times))
    rows = [Rows(Kind.GRADIENT, times[:, i], i, -1, numbers, begins[:, i], computed[:, i]) for i in range(n)]
    for j, i in zip(arcs.source.tolist(), arcs.target.tolist(), strict=True):
        rows.append(Rows(Kind.DELIVER, times[1:, i], i, j, numbers[:-1], times[:-1, j]))
    last = (times <= end).sum(axis=0).clip(max=len(times) - 1)
    degree, none = np.bincount(arcs.source, minlength=n), np.zeros(0, dtype=np.int64)
    return Drawn(rows, computed[last, np.arange(n)], degree, none, none, none)
