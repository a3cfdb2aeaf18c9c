"""Heavy-ball momentum with a given coefficient, or with the coefficient that theory gives for the network."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from bench.method.algorithm import Algorithm
from bench.method.gossip import slowed_momentum


class HeavyBall(Algorithm):
    """Base of methods with momentum β: a given one, or β = 1 − n^(−1/3) (1 − √ω̃) with ω̃ of (I + W)/2."""

    beta: float = 0.9
    momentum: Literal["theory", "given"] = "theory"

    def remembers(self) -> Tensor:
        """Return β, (R, 1, 1)."""
        if self.momentum == "given":
            return self.beta  # type: ignore[return-value]
        return 1 - self.n ** (-1 / 3) * (1 - torch.sqrt(slowed_momentum(self.lambda_2)))
