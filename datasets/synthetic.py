"""Least squares of the speed-up experiment of the D-NASA paper."""

from typing import Annotated

import numpy as np

from bench.base.options import Count, Neutral, NonNegative
from bench.problem import Setting, dataset
from datasets.least_squares import LeastSquares


@dataset("synthetic")
class Synthetic(LeastSquares):
    """X ~ N(0, I): all directions have the same curvature."""

    def __init__(
        self,
        setting: Setting,
        dimension: Count = 100,
        noise: NonNegative = 0.1,
        evaluation: Count = 10000,
        exact: Annotated[bool, Neutral(False)] = False,
    ) -> None:
        super().__init__(setting, np.ones(dimension), noise, evaluation, exact)
