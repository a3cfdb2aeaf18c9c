"""The models of the suite as torch modules, for comparison.

Their parameters have the same order as in the suite; the matrix of a dense layer is the transpose.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def lenet() -> nn.Module:
    """For 28×28 pixels and 10 classes."""
    return nn.Sequential(
        *(nn.Conv2d(1, 6, 5), nn.Tanh(), nn.MaxPool2d(2)),
        *(nn.Conv2d(6, 16, 5), nn.Tanh(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(256, 84), nn.Tanh(), nn.Linear(84, 10)),
    )


def cnn(inputs: tuple[int, int, int], classes: int, channels: int = 32, hidden: int = 512) -> nn.Module:
    colors, rows, columns = inputs
    return nn.Sequential(
        *(nn.Conv2d(colors, channels, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(channels, 2 * channels, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(2 * channels * (rows // 4) * (columns // 4), hidden), nn.ReLU()),
        nn.Linear(hidden, classes),
    )


class Perceptron(nn.Sequential):
    """in → hidden, tanh → classes"""

    def __init__(self, inputs: tuple[int, ...], classes: int, hidden: int = 64) -> None:
        size = torch.Size(inputs).numel()
        super().__init__(nn.Flatten(), nn.Linear(size, hidden), nn.Tanh(), nn.Linear(hidden, classes))


class Block(nn.Module):
    def __init__(self, before: int, after: int, stride: int, groups: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, padding=1, bias=False)
        self.norm1 = nn.GroupNorm(groups, after)
        self.conv2 = nn.Conv2d(after, after, 3, padding=1, bias=False)
        self.norm2 = nn.GroupNorm(groups, after)
        self.stride, self.more = stride, after - before

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x)))))
        if self.stride > 1:
            x = F.pad(x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, self.more // 2, self.more - self.more // 2))
        return F.relu(x + y)


class ResNet20(nn.Module):
    def __init__(self, colors: int, classes: int, width: int = 16, groups: int = 2) -> None:
        super().__init__()
        self.conv = nn.Conv2d(colors, width, 3, padding=1, bias=False)
        self.norm = nn.GroupNorm(groups, width)
        ends = [(width, width, 1)] * 3
        for wide in (2 * width, 4 * width):
            ends += [(wide // 2, wide, 2), (wide, wide, 1), (wide, wide, 1)]
        self.blocks = nn.Sequential(*(Block(*end, groups) for end in ends))
        self.out = nn.Linear(4 * width, classes)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.out(self.blocks(F.relu(self.norm(self.conv(x)))).mean((2, 3)))
        return out


class Layer(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1, self.qkv = nn.LayerNorm(width), nn.Linear(width, 3 * width)
        self.mixed, self.norm2 = nn.Linear(width, width), nn.LayerNorm(width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.heads = heads

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.qkv(self.norm1(x)).chunk(3, -1)
        )
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.mixed(seen.transpose(1, 2).flatten(2))
        out: Tensor = x + self.narrow(F.gelu(self.wide(self.norm2(x))))
        return out


class Transformer(nn.Module):
    def __init__(self, context: int, classes: int, layers: int = 2, width: int = 128, heads: int = 4) -> None:
        super().__init__()
        self.token, self.place = nn.Embedding(classes, width), nn.Embedding(context, width)
        self.layers = nn.Sequential(*(Layer(width, heads) for _ in range(layers)))
        self.norm, self.out = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, x: Tensor) -> Tensor:
        places = torch.arange(x.shape[1], device=x.device)
        out: Tensor = self.out(self.norm(self.layers(self.token(x) + self.place(places))))
        return out
