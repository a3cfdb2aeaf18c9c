"""An experiment: small grids, one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.base.errors import UserError
from bench.config.compose import no_size


def blocks_of(experiment: Any, name: str = "The experiment") -> list[dict[str, Any]]:
    """The grids of an experiment: each block on top of what is ``common`` to all.

    In the size ``quick``, what is written under ``quick``, for all or in a block, replaces what a block has.
    """
    parts = experiment if isinstance(experiment, dict) else {}
    blocks, common, quick = parts.get("blocks"), parts.get("common", {}), parts.get("quick", {})
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in (*blocks, common, quick)):
        raise UserError("An experiment is a list of 'blocks', each a mapping from settings to values.")
    if (size := parts.get("size", "full")) not in ("full", "quick"):
        raise UserError(f"experiment.size is full or quick; got {size!r}.")
    if size == "quick" and not quick and not any("quick" in block for block in blocks):
        raise UserError(no_size(name))
    out = []
    for block in blocks:
        own = {**common, **block}
        smaller = {**quick, **own.pop("quick", {})}
        out.append({key: smaller.get(key, value) if size == "quick" else value for key, value in own.items()})
    return out


def axes_of(block: Mapping[str, Any], settled: set[str]) -> dict[str, list[Any]]:
    """The values of each setting of a block that was not typed: several of a list, one of anything else."""
    return {key: value if isinstance(value, list) else [value] for key, value in block.items() if key not in settled}
