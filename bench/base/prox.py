"""Proximal steps: how an objective f + r is told to those who step, where r has no gradient."""

from collections.abc import Callable

from torch import Tensor

Prox = Callable[[Tensor, Tensor | float], Tensor]
"""From x and η to argmin_u r(u) + ‖u − x‖²/(2η)."""


def stays(x: Tensor, eta: Tensor | float) -> Tensor:
    """r = 0"""
    return x
