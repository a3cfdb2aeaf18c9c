"""The place of each tensor of a model in the vector of P parameters."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np


class Layout:
    """The place of each tensor of a model in the vector of P parameters.

    Attributes:
        shapes: The shape of each tensor, by name.
        sizes: The number of entries of each tensor.
        size: The number of all parameters, P.
        slices: The slice of the vector that holds each tensor, by name.

    Example:
        >>> Layout({"out.weight": (4, 2), "out.bias": (2,)}).size
        10
    """

    def __init__(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        self.shapes = dict(shapes)
        self.sizes = [int(np.prod(shape)) for shape in shapes.values()]
        self.size = sum(self.sizes)
        stops = np.cumsum(self.sizes).tolist()
        self.slices = {
            name: slice(stop - size, stop) for name, size, stop in zip(shapes, self.sizes, stops, strict=True)
        }
