"""What a cluster is to be asked for, from a file that is written once per cluster: conf/site/NAME.yaml.

It says where runs are made, not what they are: Hydra does not see it, and no run folder remembers it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from bench.base.errors import UserError
from bench.base.options import Count, Natural, attribute_options, coerce
from bench.base.registry import no_such
from bench.config.source import USUAL, Source

DEFAULT = "default"
"""The site that is used where none is named, if it is there; else the cluster's own defaults are."""
BYTES = {"": 2**20, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
"""SLURM's units of memory: megabytes, where none is named."""


@dataclass(frozen=True)
class Site:
    """One worker's share of the cluster: a part of one node. None: whatever the cluster gives who does not ask."""

    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    time: str | None = None  # in SLURM's ways: 90 (minutes), 2:00:00, 1-12:00:00
    cpus: Count | None = None
    gpus: Natural | None = None
    memory: str | None = None  # 16G
    setup: list[str] | None = None  # lines for the shell, before Python is started
    options: list[str] | None = None  # more words for sbatch
    notice: Count = 60  # seconds before the end of the time at which a worker is told
    restarts: Natural = 20  # times that a worker whose time is up is queued again

    def words(self) -> list[str]:
        """For sbatch."""
        asked = {
            "partition": self.partition,
            "account": self.account,
            "qos": self.qos,
            "time": self.time,
            "cpus-per-task": self.cpus,
            "gres": f"gpu:{self.gpus}" if self.gpus else None,
            "mem": self.memory,
            "signal": f"B:USR1@{self.notice}",
        }
        return [*(f"--{name}={value}" for name, value in asked.items() if value is not None), *(self.options or [])]

    def bytes(self) -> int | None:
        """Of main memory, where that is said."""
        if self.memory is None:
            return None
        number, unit = re.fullmatch(MEMORY, self.memory.upper()).groups()  # type: ignore[union-attr]
        return int(number) * BYTES[unit]


MEMORY = r"(\d+)([KMGT]?)B?"
TIME = r"\d+(:\d+){0,2}|\d+-\d+(:\d+){0,2}"


class Given(NamedTuple):
    """A command line without what is said of the site, and that."""

    words: list[str]
    site: Site


def of_command(words: Sequence[str], source: Source = USUAL) -> Given:
    """``site=NAME`` or a file's path, and ``site.KEY=VALUE`` on top of it."""
    rest: list[str] = []
    name, typed = DEFAULT, {}
    for word in words:
        key, is_set, value = word.partition("=")
        if is_set and key == "site":
            name = value
        elif is_set and key.startswith("site."):
            typed[key.removeprefix("site.")] = _value(word, value)
        else:
            rest.append(word)
    return Given(rest, made({**_read(name, source), **typed}, f"site={name}"))


def _value(word: str, value: str) -> Any:
    try:
        return yaml.load(value, yaml.BaseLoader)
    except yaml.YAMLError as error:
        raise UserError(f"{word} cannot be read: {' '.join(str(error).split())}") from error


def made(values: Mapping[str, Any], owner: str) -> Site:
    """A site of these values, all of them words, or a sentence."""
    options = attribute_options(Site)
    typed = coerce(options, {name: _typed(name, value) for name, value in values.items()}, "site.", owner)
    site = Site(**typed)
    if site.memory is not None and not re.fullmatch(MEMORY, site.memory.upper()):
        raise UserError(f"site.memory must be a number and a unit, as 16G; got {site.memory!r}.")
    if site.time is not None and not re.fullmatch(TIME, site.time):
        raise UserError(f"site.time must be minutes, hours:minutes:seconds or days-hours; got {site.time!r}.")
    return site


def _typed(name: str, value: Any) -> Any:
    """YAML would read 12:00:00 as a number, so that everything comes as words; counts are numbers again."""
    if name in ("setup", "options") and isinstance(value, str) and value:
        return [value]
    if value in ("", "null", "~", []):
        return None
    return int(value) if name in ("cpus", "gpus", "notice", "restarts") and str(value).isdecimal() else value


def _read(name: str, source: Source) -> dict[str, Any]:
    """The file of a site: by its name in one of the conf folders, or by its path."""
    homes = [folder / "site" for folder in source.folders()]
    places = (
        [Path(name).expanduser()] if name.endswith((".yaml", ".yml")) else [home / f"{name}.yaml" for home in homes]
    )
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        if name == DEFAULT:
            return {}
        known = sorted({file.stem for home in homes for file in home.glob("*.yaml")})
        raise UserError(f"{no_such('site', name, known)} A file of your own can be named by its path, as site=my.yaml.")
    try:
        values = yaml.load(found.read_text(encoding="utf-8"), yaml.BaseLoader) or {}
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UserError(f"{found} cannot be read: {' '.join(str(error).split())}") from error
    if not isinstance(values, dict):
        raise UserError(f"{found} must hold settings, as in 'partition: NAME'; conf/site/example.yaml is one.")
    return values
