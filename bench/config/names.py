"""The names of what is chosen, before Hydra sees them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ChoiceSweep, Glob, QuotedString
from hydra.errors import HydraException

from bench.base.errors import UserError, closest
from bench.base.home import ROOT
from bench.base.registry import no_such
from bench.config.choices import members
from bench.config.run_config import GROUPS, RunConfig

CONF = ROOT / "conf"


def check_names(words: Sequence[str], folders: Sequence[Path] = (CONF,)) -> None:
    """Members of groups are chosen by words: nan, 1, true and null are none to Hydra, which would stumble over them."""
    parser = OverridesParser.create()
    for word in words:
        group, is_set, typed = word.lstrip("+").partition("=")
        ours = group in (*GROUPS, "experiment")
        if not is_set or not (ours or group in ("", "hydra") or "/" in group):
            continue
        try:
            value = parser.parse_override(word).value()
        except HydraException:  # complained of when Hydra sees it
            continue
        names = value.list if isinstance(value, ChoiceSweep) else [value]
        for name in names:
            if not isinstance(name, str | list | dict | Glob | QuotedString):
                if not ours:
                    raise UserError(f"'{word}' is no setting: settings are typed as NAME=VALUE, as in algo=dnasa.")
                raise UserError(no_such_name(group, str(name) if len(names) > 1 else typed, folders))


def is_sweep(word: str) -> bool:
    """Whether a word of the command line names several values."""
    try:
        return OverridesParser.create().parse_override(word).is_sweep_override()
    except HydraException:  # complained of when Hydra sees it
        return False


def no_such_name(group: str, name: str, folders: Sequence[Path] = (CONF,)) -> str:
    """With the names that there are, in these folders."""
    return no_such(group, name, files_of(group, folders) if group == "experiment" else members(group))


def files_of(group: str, folders: Sequence[Path]) -> list[str]:
    """The names of the yaml files of a group in these folders, as they are typed."""
    homes = [folder / group for folder in folders]
    return sorted(file.relative_to(home).with_suffix("").as_posix() for home in homes for file in home.rglob("*.yaml"))


def not_a_setting(word: str, complaint: str) -> str:
    """A word of the command line that cannot be read."""
    if "=" not in word:
        return (
            f"'{word}' is no setting: settings are typed as NAME=VALUE, as in algo=dnasa."
            f"{'' if word in RunConfig.__annotations__ else closest(word, RunConfig.__annotations__)}"
        )
    key, _, value = word.partition("=")
    if re.search(r"(^|,)\s*(,|$)", value) and value.strip() and not set(value) & set("'\"[{("):
        return f"'{word}' has an empty value, between two commas or at an end: type one, or leave out the comma."
    reason = " ".join(line for line in complaint.splitlines() if not line.startswith("See http"))
    quoted = f'{key}="{value}"'
    return f"'{word}' cannot be read: {reason}. Quote what has spaces, commas, brackets or braces: '{quoted}'."
