"""An experiment: small grids, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench.base import renamed
from bench.base.errors import UserError, closest
from bench.config.compose import no_size
from bench.config.run_config import RunConfig, meant

PARTS = ("blocks", "common", "quick", "size")
"""What an experiment has beside settings that are common to its blocks."""


def blocks_of(experiment: Any, name: str = "The experiment") -> list[dict[str, Any]]:
    """The grids of an experiment: each block on top of what is common to all, beside ``blocks`` or under ``common``.

    In the size ``quick``, what is written under ``quick``, for all or in a block, replaces what a block has.
    """
    experiment = _with_present_names(experiment)
    parts = experiment if isinstance(experiment, dict) else {}
    known = (*PARTS, *RunConfig.__annotations__)
    if strange := [key for key in _keys(experiment) if not isinstance(key, str)]:
        raise UserError(f"{name} has a key {strange[0]!r}, which is no text: keys are names of settings.")
    for key in parts:
        if key.partition(".")[0] not in known:
            raise UserError(f"{name} has a key '{key}', which is no setting.{closest(key, known, meant(key))}")
    blocks, common, quick = (parts.get(part) for part in ("blocks", "common", "quick"))
    common, quick = ({} if part is None else part for part in (common, quick))
    grids = blocks if isinstance(blocks, list) else [None]
    quicker = [block["quick"] for block in grids if isinstance(block, dict) and block.get("quick") is not None]
    if not all(isinstance(part, dict) for part in (*grids, *quicker, common, quick)):
        raise UserError("An experiment is a list of 'blocks', each a mapping from settings to values.")
    if not blocks:
        raise UserError(f"{name} has no blocks: its list is empty. conf/experiment/example.yaml shows some.")
    if (size := parts.get("size", "full")) not in ("full", "quick"):
        raise UserError(f"experiment.size is full or quick; got {size!r}.")
    quicks = [part.get("quick") or {} for part in (common, *blocks)]
    if nested := [part for part in (quick, *quicks) if "quick" in part]:
        raise UserError(f"{name} has 'quick' inside 'quick', with {nested[0]['quick']!r}: write settings there.")
    if size == "quick" and not quick and not any(quicks):
        raise UserError(no_size(name))
    beside = {key: value for key, value in parts.items() if key not in PARTS}
    if twice := [key for key in beside if key in common]:
        raise UserError(f"{name} sets '{twice[0]}' both under 'common' and beside it: keep one.")
    for key, value in (item for part in (beside, common, *blocks) for item in part.items()):
        if isinstance(value, dict) and "." not in key and key != "quick":
            one = next((option for option in value if option != "name"), "NAME")
            raise UserError(f"{name} has a mapping for '{key}': write each option by itself, as {key}.{one}: VALUE.")
    out = []
    for_all = common.get("quick") or {}
    whole = [{**beside, **common, **block, "quick": {**for_all, **(block.get("quick") or {})}} for block in blocks]
    _check_quick(quick, whole, name)
    for own in whole:
        fewer = own.pop("quick", None) or {}
        _check_quick(fewer, [own], name)
        smaller = {**quick, **fewer}
        out.append({key: smaller.get(key, value) if size == "quick" else value for key, value in own.items()})
        if empty := [key for key, value in out[-1].items() if value == []]:
            raise UserError(f"{name} has no values for '{empty[0]}': its list is empty.")
    return out


def _with_present_names(part: Any) -> Any:
    """An experiment in which settings that were renamed have their present names."""
    if isinstance(part, dict):
        names = {key: renamed.setting(key) if isinstance(key, str) else key for key in part}
        return {names[key]: _with_present_names(value) for key, value in part.items()}
    return [_with_present_names(value) for value in part] if isinstance(part, list) else part


def _keys(part: Any) -> Iterator[Any]:
    """The keys of all mappings in an experiment."""
    if isinstance(part, dict):
        yield from part
    for inner in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from _keys(inner)


def _check_quick(quick: Mapping[str, Any], blocks: Sequence[Mapping[str, Any]], name: str) -> None:
    """What is smaller in the quick size replaces what is there: of a key that no block has, nothing would come."""
    for key in quick:
        if not any(key in block for block in blocks):
            known = {each for block in blocks for each in block if each != "quick"}
            raise UserError(
                f"{name} sets '{key}' under 'quick' alone, where it replaces nothing: write its usual value in a block "
                f"too.{closest(key, known)}"
            )


def axes_of(block: Mapping[str, Any], settled: set[str]) -> dict[str, list[Any]]:
    """The values of each setting of a block that was not typed: several of a list, one of anything else."""
    return {key: value if isinstance(value, list) else [value] for key, value in block.items() if key not in settled}
