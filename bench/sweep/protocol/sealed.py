"""The sealed workloads: two problems that the hash of the version draws, so that no method can be made for them."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from bench.base.board import SEALED, Board, Settings, Workload
from bench.store.files import write_text

KINDS = {
    "Z1": ("quadratics", ("dimension", "condition", "spread", "noise")),
    "Z2": ("factorisation", ("observed", "noise")),
}
"""The problems, with the options that are drawn."""
STRATUM = "Z"


def sealed(board: Board, version: str) -> dict[str, Workload]:
    """Return the sealed workloads of a version, given its hash."""
    ranges, out = board.sealed, {}
    for name, (dataset, options) in KINDS.items():
        drawn: Settings = {f"dataset.{key}": _between(*ranges[key], version, name, key) for key in options}
        if dataset == "quadratics":
            condition = drawn["dataset.condition"]
            drawn["dataset.dimension"] = round(drawn["dataset.dimension"])
            # relative to the differences of the nodes' gradients, and with the smoothness of D1
            drawn["dataset.noise"] = _short(drawn["dataset.noise"] * drawn["dataset.spread"] * condition / 2)
            drawn["scale"] = _short(0.1 / condition)
        network = {key: _one_of(ranges[key], version, name, key) for key in ("nodes", "topology")}
        settings = {"dataset": dataset, **drawn, **network, "batch_size": 1, "dtype": "float64"}
        out[name] = Workload(name, STRATUM, ranges["budget"], settings, (), board.seeds, phase="sealed")
    return out


def write_sealed(board: Board) -> Path:
    """Write the sealed workloads to a file, from which the analysis reads them."""
    version, file = board.version(), board.folder / SEALED
    found = {
        name: {"stratum": one.stratum, "budget": one.budget, "set": one.set}
        for name, one in sealed(board, version).items()
    }
    text = yaml.safe_dump({"version": version, "workloads": found}, sort_keys=False)
    write_text(file, "# Drawn from the hash of the version by bench/board.py run sealed.\n" + text)
    return file


def _uniform(*words: str) -> float:
    """Return a number in [0, 1) that depends on these words only."""
    return int.from_bytes(hashlib.sha256("/".join(words).encode()).digest()[:6], "big") / 2**48


def _between(low: float, high: float, *words: str) -> float:
    """Draw a number whose logarithm is uniform, with three digits."""
    return _short(low * math.exp(_uniform(*words) * math.log(high / low)))


def _short(value: float) -> float:
    return float(f"{value:.3g}")


def _one_of(values: Sequence[Any], *words: str) -> Any:
    return values[int(_uniform(*words) * len(values))]
