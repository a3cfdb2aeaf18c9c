"""What kind of setting a word of the command line is."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, OverrideType

from bench.base.errors import UserError
from bench.config.compose import hydra_here
from bench.config.run_config import GROUPS, RunConfig


def is_plain(override: Override) -> bool:
    """Whether a word sets one value of a run or one option of a choice, to what stands there."""
    group, _, option = override.key_or_group.partition(".")
    return (
        override.type == OverrideType.CHANGE
        and override.package is None
        and group in RunConfig.__annotations__
        and (bool(option) == (group in GROUPS))
        and "." not in option
        and not isinstance(override.value(), dict)
        and not _refers(override)
    )


def _refers(override: Override) -> bool:
    """Whether a value is made from others."""
    return "${" in str(override.value())


def is_choice(override: Override) -> bool:
    """Whether a word chooses a member of a group or an experiment, sets something of the latter, or refers."""
    key = override.key_or_group
    simple = override.type == OverrideType.CHANGE and override.package is None
    known = key in GROUPS or key.partition(".")[0] == "experiment"
    refers = key.partition(".")[0] in RunConfig.__annotations__ and _refers(override)
    return simple and not isinstance(override.value(), dict) and (known or refers)


def options_typed(words: Sequence[str], groups: Collection[str]) -> dict[str, Any]:
    """The values of options of these groups, each typed as GROUP.NAME=VALUE, by GROUP.NAME."""
    with hydra_here(words):
        overrides = OverridesParser.create().parse_overrides(list(words))
    for override in overrides:
        if override.is_sweep_override():
            raise UserError(f"{override.input_line} names several values; try one at a time.")
        if not is_plain(override) or override.key_or_group.partition(".")[0] not in groups:
            forms = " or ".join(f"{group}.NAME=VALUE" for group in groups)
            raise UserError(
                f"'{override.input_line}' is no option of a method or a compressor: those are typed as {forms}."
            )
    return {override.key_or_group: override.value() for override in overrides}
