"""Spike model of the D-NASA paper: one direction has a much larger curvature."""

import numpy as np

from bench.base.options import Count, NonNegative
from bench.problem import Setting, dataset
from datasets.least_squares import LeastSquares


@dataset("spike")
class Spike(LeastSquares):
    """X ~ N(0, diag(spike_sd², 1, …, 1)).

    The text of the paper states variance 100 (spike_sd = 10); its figure suggests spike_sd = 100.
    """

    def __init__(
        self,
        setting: Setting,
        dimension: Count = 100,
        spike_sd: float = 10.0,
        noise: NonNegative = 0.1,
        evaluation: Count = 10000,
    ) -> None:
        super().__init__(setting, np.append(spike_sd, np.ones(dimension - 1)), noise, evaluation)
