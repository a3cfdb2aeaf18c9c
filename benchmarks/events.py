"""CPU time of drawing the events of asynchronous methods."""

from __future__ import annotations

import time
from typing import get_args

import numpy as np

from bench.clock import Compute
from bench.events import Pattern, draw_tape
from benchmarks.clock import Entry

NODES = 16
COMPUTE = {
    "equal nodes": Compute(0.01),
    "random times, slow node": Compute(0.01, lognormal_sigma=0.3, slow_node=0, slow_factor=4),
}


def tapes(events: int) -> list[Entry]:
    """Return the seconds of CPU of tapes of so many events of 16 nodes on a ring, per million events."""
    here = np.arange(NODES)
    source, target = np.tile(here, 2), np.concatenate([(here + 1) % NODES, (here - 1) % NODES])
    delays, transfer = np.full(2 * NODES, 2_000_000), np.full(2 * NODES, 1_000_000)
    entries: list[Entry] = []
    for kind, compute in COMPUTE.items():
        for pattern in get_args(Pattern):
            graph = source, target, delays, compute, 0, NODES
            steps = events * 100 // max(1, len(draw_tape(pattern, *graph, 100, transfer=transfer)))
            began = time.process_time()
            drawn = len(draw_tape(pattern, *graph, steps, transfer=transfer))
            spent = time.process_time() - began
            entries.append({"what": f"{pattern}, {kind}", "s": spent * 1e6 / drawn})
    return entries
