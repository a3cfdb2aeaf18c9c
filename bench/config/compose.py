"""Hydra at the edge of the suite: where its configs lie, and its errors in our words."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import hydra
from hydra.core.config_store import ConfigStore
from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import MarkedYAMLError, YAMLError

from bench.base.errors import UserError, closest
from bench.base.registry import no_such, plugins
from bench.config.choices import members, options_of
from bench.config.names import CONF, check_names, no_such_name
from bench.config.run_config import GROUPS, RunConfig, meant, no_such_setting, parse

HYDRA_ERRORS = (HydraException, OmegaConfBaseException, YAMLError)
SEARCHPATH = "hydra.searchpath="


def compose_one(overrides: Sequence[str]) -> RunConfig:
    """One configuration, outside a Hydra task."""
    words = with_plugins(overrides)
    with hydra_here(words):
        values = resolved(hydra.compose("config", overrides=words))
    values.pop("experiment", None)
    return parse(values)


@contextmanager
def hydra_here(words: Sequence[str]) -> Iterator[None]:
    """Hydra, ready to compose; what it complains of is said in the words of this suite."""
    try:
        with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
            yield
    except HYDRA_ERRORS as error:
        raise UserError(sentence(error, words)) from error


def resolved(config: DictConfig) -> dict[str, Any]:
    return cast(dict[str, Any], OmegaConf.to_container(config, resolve=True))


def with_plugins(words: Sequence[str]) -> list[str]:
    """The command line with the ``conf`` folders of installed plug-ins on Hydra's search path.

    What is registered without a yaml is made known to Hydra too, with the defaults of its signature.
    """
    words = [f"+{word}" if _MAPPING.match(word) else word for word in words]
    check_names(words)
    folders = plugin_folders()
    given = [word.removeprefix(SEARCHPATH).strip("[]") for word in words if word.startswith(SEARCHPATH)]
    _store_members([CONF, *folders, *_folders_in(given)])
    if not folders:
        return list(words)
    rest = [word for word in words if not word.startswith(SEARCHPATH)]
    path = ",".join([*given, *(f"'file://{folder}'" for folder in folders)])
    settings = [place for place, word in enumerate(rest) if "=" in word and not word.startswith("-")]
    place = settings[0] if settings else len(rest)  # beside them: Hydra takes no settings on both sides of a flag
    return [*rest[:place], f"{SEARCHPATH}[{path}]", *rest[place:]]


_MAPPING = re.compile(r"model\.kwargs[.=]")
"""Settings of a mapping with keys that nobody knows beforehand: Hydra calls that adding."""


def plugin_folders() -> list[Path]:
    """The ``conf`` folders that plug-ins brought: in a package, or beside a single file."""
    homes = [Path(home) / "conf" for plugin in plugins() for home in _places(plugin.module.partition(".")[0])]
    return [home for home in dict.fromkeys(homes) if home.is_dir() and home.resolve() != CONF.resolve()]


def _store_members(folders: Sequence[Path]) -> None:
    """Names that have no yaml in any of these folders, into Hydra's own store."""
    store = ConfigStore.instance()
    for group in GROUPS:
        for name in members(group):
            if not any((folder / group / f"{name}.yaml").is_file() for folder in folders):
                store.store(name, {"name": name, **_defaults(group, name)}, group=group)


def _defaults(group: str, name: str) -> dict[str, Any]:
    """Those that a yaml could have said."""
    try:
        options = options_of(group, name)
    except Exception:  # a stranger's signature may be anything; it is complained of when it is chosen
        return {}
    return {key: o.default for key, o in options.items() if isinstance(o.default, str | int | float | list | None)}


def _places(package: str) -> Sequence[str]:
    """The folders of a package, or that of a single file; none where there is no such package."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return []
    if spec is None:
        return []
    return spec.submodule_search_locations or ([str(Path(spec.origin).parent)] if spec.origin else [])


def _folders_in(given: Sequence[str]) -> list[Path]:
    """The folders that were typed as hydra.searchpath."""
    out: list[Path] = []
    for word in ",".join(given).split(","):
        kind, _, place = word.strip(" '\"").rpartition("://")
        if kind == "pkg":
            package, _, inside = place.partition(".")
            out += [Path(home) / inside.replace(".", "/") for home in _places(package)]
        elif place:
            out.append(Path(place))
    return out


def sentence(error: Exception, typed: Sequence[str]) -> str:
    """Hydra's errors in the words of this suite; ``typed`` is the command line."""
    if isinstance(error, YAMLError):
        return _not_yaml(error)
    if isinstance(error, OverrideParseException):
        return _not_a_setting(error.override, str(error))
    if isinstance(error, MissingConfigException) and error.missing_cfg_file:
        group, _, name = error.missing_cfg_file.rpartition("/")
        if group.partition("/")[0] == "experiment":
            return no_such_name("experiment", error.missing_cfg_file.removeprefix("experiment/"), plugin_folders())
        return no_such(group, name, error.options or [])
    if unknown := re.match(r"Could not override '([^']+)'", str(error)):
        return _no_such_setting(unknown[1], typed) or " ".join(str(error).split())
    if several := re.match(r"Ambiguous value for argument '([^']+)'", str(error)):
        return several_values(several[1])
    return " ".join(str(error).split())


def several_values(word: str) -> str:
    return f"{word} names several values; add -m to run them all."


def _not_yaml(error: YAMLError) -> str:
    """Which file, where in it, and what the reader stumbled over."""
    mark = error.problem_mark if isinstance(error, MarkedYAMLError) else None
    if mark is None:
        return f"A config file cannot be read as YAML: {' '.join(str(error).split())}."
    problem = getattr(error, "problem", None) or "it is no YAML"
    return f"{mark.name} cannot be read as YAML: line {mark.line + 1}, column {mark.column + 1}: {problem}."


def _not_a_setting(word: str, complaint: str) -> str:
    """A word of the command line that cannot be read."""
    if "=" not in word:
        return (
            f"'{word}' is no setting: settings are typed as NAME=VALUE, as in algo=dnasa."
            f"{'' if word in RunConfig.__annotations__ else closest(word, RunConfig.__annotations__)}"
        )
    value = word.partition("=")[2]
    if re.search(r"(^|,)\s*(,|$)", value) and value.strip() and not set(value) & set("'\"[{("):
        return f"'{word}' has an empty value, between two commas or at an end: type one, or leave out the comma."
    reason = " ".join(line for line in complaint.splitlines() if not line.startswith("See http"))
    return f"'{word}' cannot be read: {reason}. Quote what has spaces, commas, brackets or braces: '{_quoted(word)}'."


def _quoted(word: str) -> str:
    key, _, value = word.partition("=")
    return f'{key}="{value}"'


def _no_such_setting(key: str, typed: Sequence[str]) -> str:
    """Which choices lack the option that was typed, and what they have instead."""
    group, _, option = key.rpartition(".")
    if group == "experiment":
        return _not_in_experiment(option, typed)
    if key in GROUPS:
        return f"{key} lacks an option of those in braces: type each by itself, as {key}.NAME=VALUE, to see which."
    if group not in GROUPS:
        return no_such_setting(key)
    names = next((word.split("=", 1)[1] for word in typed if word.startswith(f"{group}=")), None)
    if names is None:
        chosen = [word for word in typed if word.split("=")[0] in GROUPS and "," not in word]
        with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
            names = hydra.compose("config", overrides=with_plugins(chosen))[group].name
    lacking = {name: known for name in names.split(",") if option not in (known := options_of(group, name))}
    return " ".join(
        f"{group}={name} has no option '{key}'.{closest(option, known, meant(key))}" for name, known in lacking.items()
    )


def _not_in_experiment(part: str, typed: Sequence[str]) -> str:
    name = next((word.partition("=")[2] for word in typed if word.startswith("experiment=")), None)
    if name is None:
        return f"experiment.{part} is of an experiment: name one, as in experiment=example."
    if part == "size":
        return no_size(f"experiment={name}")
    return f"experiment={name} has no '{part}'."


def no_size(experiment: str) -> str:
    return f"{experiment} has one size only: nothing in it is written under 'quick'. Leave out experiment.size."
