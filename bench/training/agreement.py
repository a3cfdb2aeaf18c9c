"""Detects metrics of plug-ins that differ between the processes of a run."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch

from bench.base.errors import UserError
from bench.training.hosting import Hosting

RELATIVE, ABSOLUTE = 1e-5, 1e-9
"""Differences that the rounding of different processors can explain."""


def must_agree(own: Mapping[str, np.ndarray], hosting: Hosting) -> None:
    """Raise ``UserError`` in all processes if a metric, (R,), of one differs from that of another."""
    if not own or len(hosting.hosted) == hosting.nodes:
        return
    shares = torch.zeros(hosting.nodes, 1 + sum(map(len, own.values())), dtype=torch.float64)
    shares[hosting.hosted.start] = torch.as_tensor(np.concatenate([[1.0], *own.values()]))  # a row for each process
    rows = hosting.total(shares).numpy()
    places = np.cumsum([len(values) for values in own.values()])[:-1]
    for name, values in zip(own, np.split(rows[rows[:, 0] == 1, 1:], places, axis=1), strict=True):
        odd = ~np.isclose(values, values[:1], rtol=RELATIVE, atol=ABSOLUTE, equal_nan=True)
        if odd.any():
            rank, r = np.argwhere(odd)[0]
            raise UserError(
                f"The metric '{name}' is {values[0, r]:.6g} on rank 0 and {values[rank, r]:.6g} on rank {rank}. A rank "
                "hosts only some of the nodes. Sum over the nodes of view.state with view.total, and divide by "
                "view.nodes for a mean."
            )
