"""A worker's part of an order."""

from __future__ import annotations

import torch

from bench.base.machine import core_share
from bench.sweep.cluster.order import Order
from bench.sweep.sweep import pull
from bench.terminal.console import Console


def work(order: Order) -> int:
    """Until nothing is left to claim; 1 where a run has failed here."""
    torch.set_num_threads(min(torch.get_num_threads(), core_share(1)))  # not every SLURM binds a job to its cores
    console = Console(width=140, highlight=False)
    fates = pull(order.groups, order.jobs, console, order.name, order.varies, order.id)
    return int(any(fate.error is not None for fate in fates))
