"""Settings of torch for every run."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

EXACT = "ieee"


def set_up_torch() -> None:
    """Apply the settings; they change results by rounding errors at most.

    A plug-in or a script may have asked torch to multiply float32 numbers with fewer bits.
    """
    torch.set_float32_matmul_precision("highest")
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    for backend in _backends():
        backend.fp32_precision = EXACT
    if platform.machine() in ("aarch64", "arm64"):
        # oneDNN is 30 to 80 times slower than OpenBLAS for batched products with a transposed factor
        torch.backends.mkldnn.enabled = False  # type: ignore[assignment]


@contextmanager
def own_precision() -> Iterator[None]:
    """Give the caller back the precision of float32 that it had."""
    before = [(backend, backend.fp32_precision) for backend in _backends()]
    try:
        yield
    finally:
        for backend, precision in before:
            backend.fp32_precision = precision


def _backends() -> list[Any]:
    """Return the parts of torch whose precision can be set; none before torch 2.9."""
    found = [
        getattr(getattr(torch.backends, library), part, None)
        for library, parts in (("mkldnn", ("matmul", "conv", "rnn")), ("cudnn", ("conv", "rnn")), ("cuda", ("matmul",)))
        for part in parts
    ]
    return [backend for backend in found if hasattr(backend, "fp32_precision")]
