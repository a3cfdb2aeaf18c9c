"""The stacked engine: all nodes of all replicas in one process, as one tensor program."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from bench.build.build import run_in
from bench.build.events import events_of
from bench.build.network import mixing_of
from bench.build.torch_setup import set_up_torch
from bench.config.run_config import RunConfig
from bench.store.record import Row
from bench.training import checkpoint
from bench.training.checkpoint import Resume
from bench.training.hosting import OneProcess
from bench.training.mixers import make_mixer
from bench.training.observer import Observer, Outcome, Snapshot


def run(configs: Sequence[RunConfig], observer: Observer, resume: Resume | None = None) -> list[Outcome]:
    """Run configurations that differ only in stepsizes, seed or graph, as replicas of one program.

    When half of the replicas have diverged, the program is rebuilt for the others.
    """
    set_up_torch()
    first = configs[0]
    dtype, device = getattr(torch, first.dtype), torch.device(first.device)
    moment = None if resume is None else checkpoint.load(resume, range(first.nodes), dtype, device)
    running = list(range(len(configs)))
    ended: dict[int, Outcome] = {}
    while running:
        chosen = [configs[r] for r in running]
        hosting = OneProcess(first.nodes, events_of(first) or make_mixer([mixing_of(c) for c in chosen], dtype, device))
        outcomes, moment = run_in(hosting, chosen, ReplicaObserver(observer, running), moment, thin=len(running) > 1)
        ended |= {r: outcome for r, outcome in zip(running, outcomes, strict=True) if outcome}
        moment = moment.only([i for i, outcome in enumerate(outcomes) if outcome is None])
        running = [r for r in running if r not in ended]
    return [ended[r] for r in range(len(configs))]


class ReplicaObserver(Observer):
    """Reports a subset of replicas to another observer, under their original numbers."""

    def __init__(self, whole: Observer, replicas: Sequence[int]) -> None:
        self._whole, self._number = whole, list(replicas)

    def learn(self, r: int, facts: Row) -> None:
        self._whole.learn(self._number[r], facts)

    def record(self, r: int, row: Row) -> None:
        self._whole.record(self._number[r], row)

    def end(self, r: int, outcome: Outcome) -> None:
        self._whole.end(self._number[r], outcome)

    def tick(self, t: int) -> None:
        self._whole.tick(t)

    def leaves(self, t: int) -> bool:
        return self._whole.leaves(t)

    def checkpoint(self, r: int, moment: Snapshot) -> None:
        self._whole.checkpoint(self._number[r], moment)
