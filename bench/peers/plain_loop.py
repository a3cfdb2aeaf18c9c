"""D-SGD and gradient tracking in plain PyTorch: one torch.nn module per node, autograd, and a loop over the nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from bench.peers.problem import ETA, Clock, Result


def shuffled(samples: int, batch_size: int) -> Iterator[Tensor]:
    """Yield mini-batches of row numbers, in a new random order in every epoch."""
    while True:
        yield from torch.randperm(samples).split(batch_size)


def dsgd(x: Tensor, w: Tensor, grad: Callable[[Tensor], Tensor]) -> Iterator[Tensor]:
    """X⁺ = W (X − η G(X))."""
    while True:
        x = w @ (x - ETA * grad(x))
        yield x


def gradient_tracking(x: Tensor, w: Tensor, grad: Callable[[Tensor], Tensor]) -> Iterator[Tensor]:
    """V⁰ = U⁰ = G(X⁰);  X⁺ = W (X − η U),  V⁺ = G(X⁺),  U⁺ = W U + V⁺ − V."""
    u = v = grad(x)
    while True:
        x = w @ (x - ETA * u)
        new = grad(x)
        u, v = w @ u + new - v, new
        yield x


class PlainLoop:
    """The nodes, their modules and their data."""

    def __init__(self, arrays: dict[str, np.ndarray]) -> None:
        tensors = {name: torch.as_tensor(value) for name, value in arrays.items()}
        self._features, self._labels = tensors["features"][..., :-1].contiguous(), tensors["labels"]
        self._start, self._weights, self._rows = tensors["start"], tensors["weights"], tensors["rows"]
        n, samples, inputs = self._features.shape
        self._samples, self._modules = samples, [nn.Linear(inputs, 1, dtype=torch.float64) for _ in range(n)]

    def run(self, method: str, steps: int, check: bool = False) -> Result:
        """Compute steps, on own mini-batches or, to ``check`` the iterates, on those of hearsay."""
        own = [shuffled(self._samples, self._rows.shape[2]) for _ in self._modules]
        batches = [iter(rows) for rows in self._rows] if check else own
        clock = Clock(steps)
        update = {"dsgd": dsgd, "dsgt": gradient_tracking}[method]
        trajectory = update(self._start, self._weights, lambda x: self._gradients(x, batches))
        for t in range(1, steps + 1):
            x = next(trajectory)
            clock.tick(t)
        return Result(clock.ms, x.numpy())

    def _gradients(self, x: Tensor, batches: list[Iterator[Tensor]]) -> Tensor:
        gradients = []
        for i, module in enumerate(self._modules):
            rows, parameters = next(batches[i]), list(module.parameters())
            vector_to_parameters(x[i], parameters)
            out = module(self._features[i][rows]).squeeze(-1)
            loss = F.binary_cross_entropy_with_logits(out, self._labels[i][rows])
            gradients.append(parameters_to_vector(torch.autograd.grad(loss, parameters)))
        return torch.stack(gradients)
