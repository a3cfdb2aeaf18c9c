"""How torch is set up for a run: the choices that were measured, in one place."""

from __future__ import annotations

import platform

import torch


def set_up_torch() -> None:
    """Settings that cost nothing and save a lot; none changes what is computed beyond rounding."""
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    if platform.machine() in ("aarch64", "arm64"):
        # oneDNN takes 30 to 80 times as long as OpenBLAS for a batched product with a transposed factor
        torch.backends.mkldnn.enabled = False  # type: ignore[assignment]
