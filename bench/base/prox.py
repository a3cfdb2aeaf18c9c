"""Proximal steps, for objectives f + r whose r has no gradient."""

from collections.abc import Callable

from torch import Tensor

Prox = Callable[[Tensor, Tensor | float], Tensor]
"""Maps x and η to argmin_u r(u) + ‖u − x‖²/(2η)."""


def stays(x: Tensor, eta: Tensor | float) -> Tensor:
    """Return x, the proximal step of r = 0."""
    return x
