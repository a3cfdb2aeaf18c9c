"""The resources of a worker on a cluster, from conf/site/NAME.yaml.

They do not affect results: Hydra does not read them, and run folders do not record them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from bench.base.errors import UserError
from bench.base.home import expanded
from bench.base.options import Count, Natural, attribute_options, coerce
from bench.base.registry import no_such
from bench.base.small_file import content_up_to
from bench.base.unique_yaml import UniqueTexts, load_unique
from bench.config.source import USUAL, Source

DEFAULT = "default"
"""The site to use if none is named. If its file is missing, the defaults of the cluster apply."""
BYTES = {"": 2**20, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
"""SLURM's units of memory; megabytes by default."""


@dataclass(frozen=True)
class Site:
    """The resources of one worker, on one node. None: the default of the cluster."""

    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    time: str | None = None  # 90 (minutes), 2:00:00 or 1-12:00:00
    cpus: Count | None = None
    gpus: Natural | None = None
    memory: str | None = None  # 16G
    setup: list[str] | None = None  # shell commands before Python starts
    options: list[str] | None = None  # more options of sbatch
    notice: Count = 60  # seconds before the time limit at which a worker gets a signal
    restarts: Natural = 20  # maximal number of times that a worker is queued again after its time limit

    def words(self) -> list[str]:
        """Return the options of sbatch."""
        options = {
            "partition": self.partition,
            "account": self.account,
            "qos": self.qos,
            "time": self.time,
            "cpus-per-task": self.cpus,
            "gres": f"gpu:{self.gpus}" if self.gpus else None,
            "mem": self.memory,
            "signal": f"B:USR1@{self.notice}",
        }
        return [*(f"--{name}={value}" for name, value in options.items() if value is not None), *(self.options or [])]

    def bytes(self) -> int | None:
        """Return the main memory in bytes, if it is set."""
        if self.memory is None:
            return None
        number, unit = re.fullmatch(MEMORY, self.memory.upper()).groups()  # type: ignore[union-attr]
        return int(number) * BYTES[unit]


MEMORY = r"(\d+)([KMGT]?)B?"
TIME = r"\d+(:\d+){0,2}|\d+-\d+(:\d+){0,2}"


def of_command(words: Sequence[str], source: Source = USUAL) -> tuple[list[str], Site]:
    """Read ``site=NAME`` or ``site=PATH``, and ``site.KEY=VALUE``; returns the other words and the site."""
    rest: list[str] = []
    name, typed = DEFAULT, {}
    for word in words:
        key, is_set, value = word.partition("=")
        if is_set and key == "site":
            name = value
        elif is_set and key.startswith("site."):
            typed[key.removeprefix("site.")] = _yaml(value, word)
        else:
            rest.append(word)
    return rest, made({**_read(name, source), **typed}, f"site={name}")


def _yaml(text: str, owner: object) -> Any:
    """Return the value of a YAML text, with all scalars as text: YAML would read 12:00:00 as a number."""
    try:
        return load_unique(text, UniqueTexts)
    except yaml.YAMLError as error:
        raise UserError(f"{owner} cannot be read as YAML: {error}") from error


def made(values: Mapping[str, Any], owner: str) -> Site:
    """Return a site with these values, which are texts; UserError if one is invalid."""
    options = attribute_options(Site)
    typed = coerce(options, {name: _typed(name, value) for name, value in values.items()}, "site.", owner)
    site = Site(**typed)
    if site.memory is not None and not re.fullmatch(MEMORY, site.memory.upper()):
        raise UserError(f"site.memory must be a number and a unit, such as 16G; got {site.memory!r}.")
    if site.time is not None and not re.fullmatch(TIME, site.time):
        raise UserError(f"site.time must be minutes, hours:minutes:seconds or days-hours; got {site.time!r}.")
    return site


def _typed(name: str, value: Any) -> Any:
    """Convert the text of a value to a list, None or a number."""
    if name in ("setup", "options") and isinstance(value, str) and value:
        return [value]
    if value in ("", "null", "~", []):
        return None
    return int(value) if name in ("cpus", "gpus", "notice", "restarts") and str(value).isdecimal() else value


def _read(name: str, source: Source) -> dict[str, Any]:
    """Return the values in the file of a site, given by its name in a conf folder or by its path."""
    homes = [folder / "site" for folder in source.folders()]
    is_path = name.endswith((".yaml", ".yml"))
    places = [expanded(name)] if is_path else [home / f"{name}.yaml" for home in homes]
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        if name == DEFAULT:
            return {}
        known = sorted({file.stem for home in homes for file in home.glob("*.yaml")})
        raise UserError(f"{no_such('site', name, known)} For a file of your own, give its path: site=my.yaml.")
    try:
        values = _yaml(content_up_to(found).decode(), found) or {}
    except UnicodeDecodeError as error:
        raise UserError(f"{found} cannot be read: {error}") from error
    if not isinstance(values, dict):
        raise UserError(f"{found} must contain lines such as 'partition: NAME'. See conf/site/example.yaml.")
    return values
