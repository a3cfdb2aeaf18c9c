"""The stacked engine: all nodes of all replicas in one process, as one tensor program."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from bench.backend import prepare
from bench.build import run_in
from bench.config import RunConfig
from bench.loop import Observer, Outcome
from bench.mixing import make_mixer
from bench.world import OneProcess


def run(configs: Sequence[RunConfig], observer: Observer) -> list[Outcome]:
    """Run configurations that differ only in stepsizes, seed or graph, as replicas of one program."""
    prepare()
    first = configs[0]
    mixer = make_mixer([c.mixing() for c in configs], getattr(torch, first.dtype), torch.device(first.device))
    return run_in(OneProcess(first.nodes, mixer), configs, observer)
