"""How torch is set up for a run: the choices that were measured, in one place."""

from __future__ import annotations

import platform

import torch


def pieces(device: torch.device, floats: int) -> int:
    """How many samples to evaluate at once, of a model that keeps so many numbers for each.

    A CPU is fastest while a piece stays in its caches, a GPU while it has enough to do.
    """
    if device.type == "cuda":
        return max(1, (1 << 29) // floats)
    return max(1, min(1 << 12, (1 << 24) // floats))


def prepare() -> None:
    """Settings that cost nothing and save a lot; none changes what is computed beyond rounding."""
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    if platform.machine() in ("aarch64", "arm64"):
        # oneDNN takes 30 to 80 times as long as OpenBLAS for a batched product with a transposed factor
        torch.backends.mkldnn.enabled = False  # type: ignore[assignment]
