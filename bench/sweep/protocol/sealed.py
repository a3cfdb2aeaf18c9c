"""The sealed workloads: two problems that the hash of the version draws, so that no method can be made for them."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import Any

from bench.sweep.protocol.read import Board, Workload

KINDS = {
    "Z1": ("quadratics", ("dimension", "condition", "spread", "noise")),
    "Z2": ("factorisation", ("observed", "noise")),
}
"""The problems, with the options that are drawn."""


def sealed(board: Board, version: str) -> dict[str, Workload]:
    """Return the sealed workloads of a version, given its hash."""
    ranges, out = board.sealed, {}
    for name, (dataset, options) in KINDS.items():
        drawn = {f"dataset.{key}": _between(*ranges[key], version, name, key) for key in options}
        if "dataset.dimension" in drawn:
            drawn["dataset.dimension"] = round(drawn["dataset.dimension"])
        network = {key: _one_of(ranges[key], version, name, key) for key in ("nodes", "topology")}
        settings = {"dataset": dataset, **drawn, **network, "batch_size": 1, "dtype": "float64"}
        out[name] = Workload(name, "sealed", ranges["budget"], settings, (), board.seeds)
    return out


def _uniform(*words: str) -> float:
    """Return a number in [0, 1) that depends on these words only."""
    return int.from_bytes(hashlib.sha256("/".join(words).encode()).digest()[:6], "big") / 2**48


def _between(low: float, high: float, *words: str) -> float:
    """Draw a number whose logarithm is uniform, with three digits."""
    return float(f"{low * math.exp(_uniform(*words) * math.log(high / low)):.3g}")


def _one_of(values: Sequence[Any], *words: str) -> Any:
    return values[int(_uniform(*words) * len(values))]
