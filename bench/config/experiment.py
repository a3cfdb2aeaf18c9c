"""Experiments: lists of blocks, each a grid of settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench.base import renamed
from bench.base.errors import UserError, closest
from bench.config.compose import no_size
from bench.config.names import refuse_name_of
from bench.config.run_config import RunConfig, meant

PARTS = ("blocks", "common", "quick", "size")
"""Keys of an experiment that are not settings."""


def blocks_of(experiment: Any, name: str = "The experiment") -> list[dict[str, Any]]:
    """Return the blocks of an experiment, each with the settings common to all, at the top level or under ``common``.

    In the size ``quick``, the values under ``quick``, of the experiment or of a block, replace those of the block.
    Those of the experiment that are no option of a group, such as steps, apply to all blocks.
    """
    experiment = _with_present_names(experiment, name)
    parts = experiment if isinstance(experiment, dict) else {}
    known = (*PARTS, *RunConfig.__annotations__)
    if strange := [key for key in _keys(experiment) if not isinstance(key, str)]:
        raise UserError(f"{name} has a key {strange[0]!r}, which is not a text. Keys must be names of settings.")
    for key in parts:
        if key.partition(".")[0] not in known:
            raise UserError(f"{name} has a key '{key}', which is not a setting.{closest(key, known, meant(key))}")
    blocks, common, quick = (parts.get(part) for part in ("blocks", "common", "quick"))
    common, quick = ({} if part is None else part for part in (common, quick))
    grids = blocks if isinstance(blocks, list) else [None]
    quicker = [block["quick"] for block in grids if isinstance(block, dict) and block.get("quick") is not None]
    if not all(isinstance(part, dict) for part in (*grids, *quicker, common, quick)):
        raise UserError(f"{name} must be a list of 'blocks', each a mapping from settings to values.")
    if not blocks:
        raise UserError(f"{name} has an empty list of blocks. See conf/experiment/example.yaml.")
    if (size := parts.get("size", "full")) not in ("full", "quick"):
        raise UserError(f"experiment.size must be full or quick, got {size!r}.")
    quicks = [part.get("quick") or {} for part in (common, *blocks)]
    if nested := [part for part in (quick, *quicks) if "quick" in part]:
        raise UserError(f"{name} has 'quick' inside 'quick', with {nested[0]['quick']!r}. Write settings there.")
    if size == "quick" and not quick and not any(quicks):
        raise UserError(no_size(name))
    beside = {key: value for key, value in parts.items() if key not in PARTS}
    if twice := [key for key in beside if key in common]:
        raise UserError(f"{name} sets '{twice[0]}' both under 'common' and outside it. Remove one of them.")
    for key, value in (item for part in (beside, common, *blocks) for item in part.items()):
        refuse_name_of(key, value)
        if isinstance(value, dict) and "." not in key and key != "quick":
            one = next((option for option in value if option != "name"), "NAME")
            raise UserError(f"{name} has a mapping for '{key}'. Write each option on its own, as {key}.{one}: VALUE.")
    out = []
    for_all = common.get("quick") or {}
    whole = [{**beside, **common, **block, "quick": {**for_all, **(block.get("quick") or {})}} for block in blocks]
    _check_quick(quick, whole, name)
    for own in whole:
        fewer = own.pop("quick", None) or {}
        _check_quick(fewer, [own], name)
        if size == "quick":  # blocks of other methods or datasets lack some options, which have a dot
            own |= {key: value for key, value in quick.items() if key in own or "." not in key} | fewer
        out.append(own)
        if empty := [key for key, value in out[-1].items() if value == []]:
            raise UserError(f"{name} has an empty list for '{empty[0]}'.")
    return out


def _with_present_names(part: Any, where: str) -> Any:
    """Replace earlier names of settings by the present ones."""
    if isinstance(part, dict):
        names = {key: renamed.setting(key) if isinstance(key, str) else key for key in part}
        if twice := [key for key, present in names.items() if key != present and present in part]:
            old, new = twice[0], names[twice[0]]
            raise UserError(f"{where} sets both '{old}' and '{new}', two names of one setting. Remove '{old}'.")
        return {names[key]: _with_present_names(value, where) for key, value in part.items()}
    return [_with_present_names(value, where) for value in part] if isinstance(part, list) else part


def _keys(part: Any) -> Iterator[Any]:
    """Yield the keys of all mappings in an experiment."""
    if isinstance(part, dict):
        yield from part
    for inner in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from _keys(inner)


def _check_quick(quick: Mapping[str, Any], blocks: Sequence[Mapping[str, Any]], name: str) -> None:
    """Reject a key under ``quick`` that no block has, since it would have no effect."""
    for key in quick:
        if not any(key in block for block in blocks):
            known = {each for block in blocks for each in block if each != "quick"}
            raise UserError(
                f"{name} sets '{key}' only under 'quick'. Add its full-size value to a block.{closest(key, known)}"
            )


def axes_of(block: Mapping[str, Any], settled: set[str]) -> dict[str, list[Any]]:
    """Return the list of values of each setting of a block, except the typed (``settled``) settings."""
    return {key: value if isinstance(value, list) else [value] for key, value in block.items() if key not in settled}
