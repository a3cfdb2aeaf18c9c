"""The peak memory of a gradient of a module, by counting live tensors."""

from __future__ import annotations

import weakref
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from bench.models.trainable import called, other_names


class Alive(TorchDispatchMode):
    """Count the bytes of live tensors that are created inside the context; ``peak`` is the maximum."""

    def __init__(self) -> None:
        super().__init__()
        self.now = self.peak = 0
        self._tensors: dict[int, int] = {}  # by storage

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(out):
            if isinstance(tensor, Tensor):
                self._begin(tensor)
        return out

    def _begin(self, tensor: Tensor) -> None:
        storage = tensor.untyped_storage()
        key, size = storage._cdata, storage.nbytes()
        if key not in self._tensors:
            self.now += size
            self.peak = max(self.peak, self.now)
        self._tensors[key] = self._tensors.get(key, 0) + 1
        weakref.finalize(tensor, self._end, key, size).atexit = False

    def _end(self, key: int, size: int) -> None:
        self._tensors[key] -= 1
        if self._tensors[key] == 0:
            del self._tensors[key]
            self.now -= size


def floats_per_sample(module: nn.Module, one: Tensor) -> int:
    """Return how many numbers one more sample adds to the peak of a gradient; ``one`` is a batch of one, (1, …)."""
    peaks = [_peak(module, one.expand(count, *one.shape[1:]).contiguous()) for count in (2, 4)]
    return max(1, (peaks[1] - peaks[0]) // 2)


def _peak(module: nn.Module, x: Tensor) -> int:
    params = {name: p.detach().clone().requires_grad_() for name, p in module.named_parameters()}
    with torch.enable_grad(), Alive() as alive:
        out = called(module, params, other_names(module), x)
        torch.autograd.grad(out.sum(), list(params.values()), allow_unused=True)
    size = next(iter(params.values())).element_size()
    return alive.peak // size
