"""Hydra at the edge of the suite: where its configs lie, and its errors in our words."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import hydra
from hydra.errors import HydraException, MissingConfigException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from bench.config import GROUPS, RunConfig, options_of, parse
from bench.registry import UserError, closest, plugins

CONF = Path(__file__).resolve().parents[1] / "conf"
HYDRA_ERRORS = (HydraException, OmegaConfBaseException)
SEARCHPATH = "hydra.searchpath="


def compose_one(overrides: Sequence[str]) -> RunConfig:
    """One configuration, outside a Hydra task."""
    words = with_plugins(overrides)
    try:
        with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
            values = plain(hydra.compose("config", overrides=words))
    except HYDRA_ERRORS as error:
        raise UserError(sentence(error, words)) from error
    values.pop("experiment", None)
    return parse(values)


def plain(config: DictConfig) -> dict[str, Any]:
    return cast(dict[str, Any], OmegaConf.to_container(config, resolve=True))


def with_plugins(words: Sequence[str]) -> list[str]:
    """The command line with the ``conf`` folders of installed plug-ins on Hydra's search path."""
    folders = []
    for plugin in plugins():
        package = importlib.util.find_spec(plugin.module.partition(".")[0])
        for home in (package and package.submodule_search_locations) or []:
            if (Path(home) / "conf").is_dir():
                folders.append(f"'file://{Path(home) / 'conf'}'")
    if not folders:
        return list(words)
    given = [word.removeprefix(SEARCHPATH).strip("[]") for word in words if word.startswith(SEARCHPATH)]
    rest = [word for word in words if not word.startswith(SEARCHPATH)]
    return [*rest, f"{SEARCHPATH}[{','.join([*given, *folders])}]"]


def sentence(error: Exception, typed: Sequence[str]) -> str:
    """Hydra's errors in the words of this suite; ``typed`` is the command line."""
    if isinstance(error, MissingConfigException) and error.missing_cfg_file:
        group, _, name = error.missing_cfg_file.rpartition("/")
        if group.partition("/")[0] == "experiment":
            files = (CONF / "experiment").rglob("*.yaml")
            known = sorted(file.relative_to(CONF / "experiment").with_suffix("").as_posix() for file in files)
            typed_name = error.missing_cfg_file.removeprefix("experiment/")
            return f"There is no experiment called '{typed_name}'.{closest(typed_name, known)}"
        return f"There is no {group} called '{name}'.{closest(name, error.options or [])}"
    if unknown := re.match(r"Could not override '([^']+)'", str(error)):
        return _no_such_setting(unknown[1], typed)
    if several := re.match(r"Ambiguous value for argument '([^']+)'", str(error)):
        return f"{several[1]} names several values; add -m to run them all."
    return " ".join(str(error).split())


def _no_such_setting(key: str, typed: Sequence[str]) -> str:
    """Which choices lack the option that was typed, and what they have instead."""
    group, _, option = key.rpartition(".")
    if group not in GROUPS:
        return f"There is no setting called '{key}'.{closest(key, RunConfig.__annotations__)}"
    names = next((word.split("=", 1)[1] for word in typed if word.startswith(f"{group}=")), None)
    if names is None:
        chosen = [word for word in typed if word.split("=")[0] in GROUPS and "," not in word]
        with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
            names = hydra.compose("config", overrides=with_plugins(chosen))[group].name
    lacking = [name for name in names.split(",") if option not in options_of(group, name)]
    return " ".join(
        f"{group}={name} has no option '{key}'.{closest(option, options_of(group, name))}" for name in lacking
    )
