"""Where each tensor of a model lies in the vector of P parameters."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np


class Layout:
    """Where each tensor of the model lies in the vector of P parameters."""

    def __init__(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        self.shapes = dict(shapes)
        self.sizes = [int(np.prod(shape)) for shape in shapes.values()]
        self.size = sum(self.sizes)
        stops = np.cumsum(self.sizes).tolist()
        self.slices = {
            name: slice(stop - size, stop) for name, size, stop in zip(shapes, self.sizes, stops, strict=True)
        }
