"""The words of a command line, before Hydra composes them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ChoiceSweep, Glob, Override, OverrideType, QuotedString
from hydra.errors import HydraException

from bench.base.errors import UserError, closest
from bench.base.home import ROOT
from bench.base.registry import no_such
from bench.config.choices import members
from bench.config.run_config import GROUPS, RunConfig, is_text

CONF = ROOT / "conf"
FORM = "Type settings as NAME=VALUE, as in algo=dnasa."


def check_names(words: Sequence[str], folders: Sequence[Path] = (CONF,)) -> None:
    """Reject members such as nan, 1, true and null, which Hydra does not read as names."""
    parser = OverridesParser.create()
    for word in words:
        group, is_set, typed = word.lstrip("+").partition("=")
        if is_set:
            refuse_name_of(group, typed)
        ours = group in (*GROUPS, "experiment")
        if not is_set or not (ours or group in ("", "hydra") or "/" in group):
            continue
        try:
            value = parser.parse_override(word).value()
        except HydraException:  # reported when Hydra composes it
            continue
        names = value.list if isinstance(value, ChoiceSweep) else [value]
        for name in names:
            if ours and isinstance(name, list) and len(name) > 1:
                remedy = f"Add -m and type {group}={','.join(map(str, name))}."
                raise UserError(f"{word} is a list of members, of which Hydra would use only the last. {remedy}")
            if not isinstance(name, str | list | dict | Glob | QuotedString):
                if not ours:
                    raise UserError(f"'{word}' is not a setting. {FORM}")
                raise UserError(no_such_name(group, str(name) if len(names) > 1 else typed, folders))


def refuse_replaced(words: Sequence[str]) -> None:
    """Reject algo=dsgt algo={eta:1} in a sweep, where the mapping would replace the member instead of changing it."""
    typed: dict[str, str] = {}
    for word in words:
        group, is_set, value = word.partition("=")
        if is_set and group in GROUPS and group in typed and value.startswith("{"):
            raise UserError(
                f"{word} would replace {typed[group]} in a sweep. Type each option on its own: {group}.NAME=VALUE."
            )
        typed[group] = word


def refuse_name_of(key: str, value: Any) -> None:
    """Reject topology.name=ladder, which would keep the options of the member that was chosen before."""
    group, _, option = key.partition(".")
    if option == "name" and group in GROUPS:
        raise UserError(f"'{key}' cannot be set, since a member brings its own options. Type {group}={value}.")


def check_typed(overrides: Sequence[Override], blocks: Sequence[Mapping[str, Any]], experiment: str) -> None:
    """Reject typed settings that would lose to the blocks of an experiment, and mappings that would drop its members.

    A group beside its options is valid: the one chooses the member, the others set values of it.
    """
    for override in overrides:
        key, value = override.key_or_group, override.value()
        if key in GROUPS and isinstance(value, dict):
            option, setting = next(iter(value.items()), ("NAME", "VALUE"))
            remedy = f"{key}={setting}" if option == "name" else f"{key}.{option}={setting}"
            raise UserError(
                f"{override.input_line} is a mapping, which would replace the members of {key} in {experiment}. "
                f"Type each option on its own, as {remedy}."
            )
        for theirs in dict.fromkeys(name for block in blocks for name in block):
            outer, inner = sorted((key, theirs), key=len)
            if inner.startswith(f"{outer}.") and outer not in GROUPS:
                part = inner.removeprefix(f"{outer}.").partition(".")[0]
                remedy = f"{theirs}=VALUE" if theirs == inner else f"'{theirs}={{{part}: VALUE}}'"
                raise UserError(
                    f"{override.input_line} and '{theirs}' of {experiment} overlap. Type {remedy}, which replaces the "
                    "value of the experiment."
                )


def with_quotes(word: str) -> str:
    """Return a word with quotes around texts that Hydra would read and rewrite as numbers, as in results=1.10."""
    key, _, typed = word.partition("=")
    try:
        value = OverridesParser.create().parse_override(word).value()
    except HydraException:  # reported when Hydra composes it
        return word
    values = value.list if isinstance(value, ChoiceSweep) else [value]
    texts = [text.strip() for text in typed.split(",")] if len(values) > 1 else [typed.strip()]
    rewritten = [each for each in values if isinstance(each, int | float) and str(each) not in texts]
    if not rewritten or not is_text(key.lstrip("+")):
        return word
    if len(texts) != len(values) or "(" in typed:
        raise UserError(f"Hydra would read a text of {word} as the number {rewritten[0]}. Quote each text: '\"1.10\"'.")
    return f"{key}={','.join(_quoted(*pair) for pair in zip(texts, values, strict=True))}"


def _quoted(text: str, value: Any) -> str:
    return f'"{text}"' if isinstance(value, int | float) else text


def is_sweep(word: str) -> bool:
    """Return whether a word of the command line names several values."""
    try:
        return OverridesParser.create().parse_override(word).is_sweep_override()
    except HydraException:  # reported when Hydra composes it
        return False


def no_such_name(group: str, name: str, folders: Sequence[Path] = (CONF,)) -> str:
    """Return an error message with the known names of a group."""
    return no_such(group, name, files_of(group, folders) if group == "experiment" else members(group))


def files_of(group: str, folders: Sequence[Path]) -> list[str]:
    """Return the names of the yaml files of a group in these folders."""
    homes = [folder / group for folder in folders]
    return sorted(file.relative_to(home).with_suffix("").as_posix() for home in homes for file in home.rglob("*.yaml"))


def not_a_setting(word: str, reason: str) -> str:
    """Return an error message for a word that Hydra cannot parse."""
    if "=" not in word:
        known = RunConfig.__annotations__
        return f"'{word}' is not a setting. {FORM}{'' if word in known else closest(word, known)}"
    key, _, value = word.partition("=")
    if re.search(r"(^|,)\s*(,|$)", value) and value.strip() and not set(value) & set("'\"[{("):
        return f"'{word}' has an empty value. Remove the extra comma or add the value."
    reason = " ".join(line for line in reason.splitlines() if not line.startswith("See http"))
    quoted = shlex.quote(f'{key}="{value}"')
    return f"'{word}' cannot be parsed: {reason}. Quote values with spaces, commas, brackets or braces: {quoted}."


def is_plain(override: Override) -> bool:
    """Return whether a word sets one value of a run, or one option of a group, to a literal value."""
    group, _, option = override.key_or_group.partition(".")
    known = group in RunConfig.__annotations__ and bool(option) == (group in GROUPS) and "." not in option
    return known and _is_simple(override) and not _refers(override)


def is_choice(override: Override) -> bool:
    """Return whether a word chooses a group member, sets a key of an experiment, or refers to other settings."""
    key = override.key_or_group
    first = key.partition(".")[0]
    refers = first in RunConfig.__annotations__ and _refers(override)
    return _is_simple(override) and (key in GROUPS or first == "experiment" or refers)


def _is_simple(override: Override) -> bool:
    changes = override.type == OverrideType.CHANGE and override.package is None
    return changes and not isinstance(override.value(), dict)


def _refers(override: Override) -> bool:
    return "${" in str(override.value())
