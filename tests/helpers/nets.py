"""Modules as users write them, and some that cannot serve."""

import random

import numpy as np
import torch
from torch import Tensor, nn


class Net(nn.Module):
    """With what a written-out model has not: a norm, a buffer, a frozen parameter, two layers that share a weight."""

    shift: Tensor

    def __init__(self, inputs: tuple[int, ...], classes: int, width: int = 12) -> None:
        super().__init__()
        self.first = nn.Linear(torch.Size(inputs).numel(), width)
        self.second = nn.Linear(width, width)
        self.third = nn.Linear(width, width)
        self.third.weight = self.second.weight
        self.norm = nn.GroupNorm(3, width)
        self.out = nn.Linear(width, classes)
        self.still = nn.Parameter(torch.linspace(0.5, 1.5, width), requires_grad=False)
        self.register_buffer("shift", torch.linspace(-0.1, 0.1, width))

    def forward(self, x: Tensor) -> Tensor:
        x = torch.tanh(self.first(x.flatten(1))) * self.still
        x = self.norm(self.third(torch.relu(self.second(x)))) + self.shift
        return self.out(nn.functional.dropout(x, 0.5, self.training))


class Normed(nn.Sequential):
    def __init__(self, classes: int, track: bool = True) -> None:
        norm = nn.BatchNorm1d(64, track_running_stats=track)
        super().__init__(nn.Flatten(), norm, nn.Linear(64, classes))


class Embedded(nn.Sequential):
    def __init__(self, classes: int) -> None:
        super().__init__(nn.Embedding(17, 2), nn.Flatten(), nn.Linear(128, classes))


class Noisy(nn.Linear):
    def __init__(self, classes: int) -> None:
        super().__init__(64, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = x.flatten(1)
        return super().forward(x + torch.randn_like(x))


class Pair(nn.Linear):
    def __init__(self, classes: int) -> None:
        super().__init__(64, classes)

    def forward(self, x: Tensor):  # type: ignore[no-untyped-def]
        return super().forward(x.flatten(1)), x


class Recurrent(nn.Module):
    """Rows of an image one after the other."""

    def __init__(self, inputs: tuple[int, ...], classes: int, kind: str = "LSTM", dropout: float = 0.0) -> None:
        super().__init__()
        self.rows = getattr(nn, kind)(inputs[-1], 6, num_layers=2, batch_first=True, dropout=dropout)
        self.out = nn.Linear(6, classes)

    def forward(self, x: Tensor) -> Tensor:
        last: Tensor = self.out(self.rows(x)[0][:, -1])
        return last


class Branching(nn.Module):
    def __init__(self, classes: int) -> None:
        super().__init__()
        self.one, self.two = nn.Linear(64, classes), nn.Linear(64, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = x.flatten(1)
        chosen: Tensor = self.one(x) if self.one.bias.sum() > 0 else self.two(torch.tanh(x))
        return chosen


class Drawn(nn.Linear):
    """Starts, a frozen parameter and constants from all generators that a constructor may use."""

    shift: Tensor

    def __init__(self, classes: int, own: str | None = None) -> None:
        super().__init__(64, classes)
        draws = np.random.default_rng()
        self.weight = nn.Parameter(torch.tensor(0.1 * np.random.randn(classes, 64)))
        self.still = nn.Parameter(torch.tensor(random.random()), requires_grad=False)
        self.register_buffer("shift", torch.tensor(np.random.rand(classes)))
        self.hidden = draws.random() if own == "hidden" else 1.0
        if own == "weight":
            self.weight = nn.Parameter(torch.tensor(draws.standard_normal((classes, 64))))
        if own == "shift":
            self.shift = torch.tensor(draws.random(classes))

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.flatten(1)) * self.still * self.hidden + self.shift


class Seeded(nn.Linear):
    """Its start does not depend on the seed of the run."""

    def __init__(self, classes: int) -> None:
        torch.manual_seed(42)
        super().__init__(64, classes)

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.flatten(1))


class Complex(nn.Module):
    def __init__(self, classes: int, train: bool = True) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(64, classes, dtype=torch.complex64), requires_grad=train)
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, x: Tensor) -> Tensor:
        return (x.flatten(1).to(self.weight.dtype) @ self.weight).abs() * self.scale


class BySize(nn.Linear):
    """Outputs depend on the size of the batch."""

    def __init__(self, classes: int) -> None:
        super().__init__(64, classes)

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.flatten(1)) / len(x)


class ByPlace(BySize):
    """Outputs depend on the place of an input in the batch."""

    def forward(self, x: Tensor) -> Tensor:
        return nn.Linear.forward(self, x.flatten(1)) + torch.arange(len(x))[:, None]


class Rounded(BySize):
    """Computes in single precision, whatever its parameters are."""

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.linear(x.flatten(1).float(), self.weight.float(), self.bias.float()).to(x.dtype)


class Hidden(nn.Module):
    """Keeps tensors where torch does not register them."""

    def __init__(self, classes: int, kind: str, trains: bool = True) -> None:
        super().__init__()
        self.out = nn.Linear(64, classes)
        self.layers = [nn.Linear(64, 64).requires_grad_(trains)]
        self.weights = {"scale": nn.Parameter(torch.full((64,), 1.5), requires_grad=trains)}
        self.kind = kind

    def forward(self, x: Tensor) -> Tensor:
        x = x.flatten(1)
        if self.kind == "layers":
            x = self.layers[0](x)
        elif self.kind == "cast layers":
            self.layers[0] = self.layers[0].to(x.dtype)
            x = self.layers[0](x)
        else:
            x = x * self.weights["scale"]
        scores: Tensor = self.out(x)
        return scores


class Idle(nn.Module):
    """Has a layer that training cannot change."""

    def __init__(self, classes: int, kind: str) -> None:
        super().__init__()
        self.first, self.out = nn.Linear(64, 64), nn.Linear(64, classes)
        self.kind = kind

    def forward(self, x: Tensor) -> Tensor:
        x = x.flatten(1)
        if self.kind == "detached":
            with torch.no_grad():
                x = self.first(x)
        scores: Tensor = self.out(x)
        return scores


class Probabilities(nn.Sequential):
    def __init__(self, classes: int, log: bool) -> None:
        super().__init__(nn.Flatten(), nn.Linear(64, classes), nn.LogSoftmax(-1) if log else nn.Softmax(-1))


def nothing() -> nn.Module:
    return nn.Identity()


a_number = 3


class Twice(nn.Module):
    """Layers with two names, and one whose weight is that of another."""

    def __init__(self, inputs: tuple[int, ...], classes: int) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(64, 64), nn.Linear(64, 64)
        self.last = nn.Linear(64, classes)
        self.second.weight = self.first.weight
        self.net = nn.Sequential(nn.Flatten(), self.first, nn.Tanh(), self.second, nn.Tanh(), self.last)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.net(x)
        return out
