"""Settings of torch for every run."""

from __future__ import annotations

import platform

import torch


def set_up_torch() -> None:
    """Apply the settings; they change results by rounding errors at most."""
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    if platform.machine() in ("aarch64", "arm64"):
        # oneDNN is 30 to 80 times slower than OpenBLAS for batched products with a transposed factor
        torch.backends.mkldnn.enabled = False  # type: ignore[assignment]
