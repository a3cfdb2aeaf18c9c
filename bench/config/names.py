"""The names of what is chosen, before Hydra sees them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ChoiceSweep, Glob, QuotedString
from hydra.errors import OverrideParseException

from bench.base.errors import UserError
from bench.base.home import ROOT
from bench.base.registry import no_such
from bench.config.choices import members
from bench.config.run_config import GROUPS

CONF = ROOT / "conf"


def check_names(words: Sequence[str]) -> None:
    """Members of groups are chosen by words: nan, 1, true and null are none to Hydra, which would stumble over them."""
    parser = OverridesParser.create()
    for word in words:
        group, is_set, typed = word.lstrip("+").partition("=")
        if not is_set or group not in (*GROUPS, "experiment"):
            continue
        try:
            value = parser.parse_override(word).value()
        except OverrideParseException:  # complained of when Hydra sees it
            continue
        names = value.list if isinstance(value, ChoiceSweep) else [value]
        for name in names:
            if not isinstance(name, str | list | dict | Glob | QuotedString):
                raise UserError(no_such_name(group, str(name) if len(names) > 1 else typed))


def no_such_name(group: str, name: str, brought: Sequence[Path] = ()) -> str:
    """With the names that there are, those in folders that plug-ins ``brought`` too."""
    homes = [folder / group for folder in (CONF, *brought)]
    known = sorted(file.relative_to(home).with_suffix("").as_posix() for home in homes for file in home.rglob("*.yaml"))
    return no_such(group, name, known if group == "experiment" else members(group))
