"""A worker's part of an order."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from bench.base.machine import core_share
from bench.sweep.cluster.order import Order
from bench.sweep.sweep import pull
from bench.terminal.console import Console


def work(order: Order, places: Sequence[int] | None = None) -> int:
    """Until nothing is left to claim, of all groups or of those at these places; 1 where a run has failed here."""
    torch.set_num_threads(min(torch.get_num_threads(), core_share(1)))  # not every SLURM binds a job to its cores
    groups = order.groups if places is None else [order.groups[place] for place in places]
    console = Console(width=140, highlight=False)
    fates = pull(groups, order.jobs, console, order.name, order.varies, order.id)
    return int(any(fate.error is not None for fate in fates))
