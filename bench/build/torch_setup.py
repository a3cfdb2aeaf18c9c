"""Settings of torch for every run."""

from __future__ import annotations

import platform
import threading
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
    """Give the caller back the precision of float32 that it had, when no thread needs the settings any more."""
    with _turn:
        if not _users:
            _before[:] = [(part, part.fp32_precision) for part in _backends()]
            _legacy[:] = _float32_matmul_precision()
        _users.append(1)
    try:
        yield
    finally:
        with _turn:
            _users.pop()
            if not _users:
                for precision in _legacy:
                    torch.set_float32_matmul_precision(precision)
                for part, precision in _before:
                    part.fp32_precision = precision


_turn = threading.Lock()
_users: list[int] = []
_before: list[tuple[Any, str]] = []
_legacy: list[str] = []


def _float32_matmul_precision() -> list[str]:
    """Return the precision by its older name; torch refuses if a caller has set parts of it by their newer ones."""
    try:
        return [torch.get_float32_matmul_precision()]
    except RuntimeError:
        return []


def _backends() -> list[Any]:
    """Return the parts of torch whose precision can be set; none before torch 2.9."""
    found = [
        getattr(getattr(torch.backends, library), part, None)
        for library, parts in (("mkldnn", ("matmul", "conv", "rnn")), ("cudnn", ("conv", "rnn")), ("cuda", ("matmul",)))
        for part in parts
    ]
    return [backend for backend in found if hasattr(backend, "fp32_precision")]
