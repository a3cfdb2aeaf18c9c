"""Composition of a configuration by Hydra, whose errors become messages for the user."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import hydra
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import MarkedYAMLError, YAMLError

from bench.base import renamed
from bench.base.errors import UserError, closest
from bench.base.registry import no_such
from bench.config.choices import members, options_of
from bench.config.main_file import check_main_file
from bench.config.names import CONF, check_names, is_plain, is_sweep, no_such_name, not_a_setting, with_quotes
from bench.config.other_bases import check_integers
from bench.config.run_config import GROUPS, RunConfig, meant, no_such_setting, parse
from bench.config.source import CONFIG, USUAL, Source, used
from bench.store.record import LATER

HYDRA_ERRORS = (HydraException, OmegaConfBaseException, YAMLError)


def compose_one(overrides: Sequence[str], source: Source = USUAL) -> RunConfig:
    """Compose one configuration."""
    source, words = prepared(overrides, source)
    if several := [word for word in words if is_sweep(word)]:
        raise UserError(f"{several[0]} names several values. Type one of them.")
    with hydra_here(words, source):
        values = resolved(hydra.compose(source.name, overrides=words))
    if values.pop("experiment", None) is not None:
        raise UserError("This command shows one configuration. Remove experiment= and type the settings of one run.")
    return parse(values)


@contextmanager
def hydra_here(words: Sequence[str], source: Source = USUAL) -> Iterator[None]:
    """Initialize Hydra; its errors inside the context become a UserError."""
    if GlobalHydra.instance().is_initialized():
        raise UserError(
            "Hydra is already in use in this process, as inside a function under @hydra.main. Call "
            "hydra.core.global_hydra.GlobalHydra.instance().clear() first, or use hearsay outside that function."
        )
    try:
        with used(source), hydra.initialize_config_dir(str(source.main), version_base="1.3"):
            if (source.main, source.name) != (CONF, CONFIG):
                check_main_file(source.name)
            yield
    except HYDRA_ERRORS as error:
        raise UserError(sentence(error, words, source)) from error


def resolved(config: DictConfig) -> dict[str, Any]:
    return cast(dict[str, Any], OmegaConf.to_container(config, resolve=True))


def prepared(words: Sequence[str], source: Source) -> tuple[Source, list[str]]:
    """Return the source with the folders of hydra.searchpath, and the other words in the form that Hydra accepts.

    Members without a yaml file enter the store of Hydra, with the defaults of their signature.
    """
    words = [with_quotes(renamed.typed(word)) for word in words]
    if any(word.startswith("experiment=") for word in words):  # the file of the experiment may lack a size
        words = [f"++{word}" if word.startswith("experiment.size=") else word for word in words]
    source, words = source.divide([f"+{word}" if _MAPPING.match(word) else word for word in words])
    check_names(words, source.folders())
    check_integers(words, source)
    _store_members(source.folders())
    return source, list(words)


_MAPPING = re.compile(r"model\.kwargs[.=]")
"""Settings with arbitrary keys, to which Hydra must add."""


def _store_members(folders: Sequence[Path]) -> None:
    """Add the members without a yaml file in these folders to the store of Hydra."""
    store = ConfigStore.instance()
    for group in GROUPS:
        for name in members(group):
            if not any((folder / group / f"{name}.yaml").is_file() for folder in folders):
                store.store(name, {"name": name, **_defaults(group, name)}, group=group)


def _defaults(group: str, name: str) -> dict[str, Any]:
    """Return the defaults that a yaml file can express."""
    try:
        options = options_of(group, name)
    except Exception:  # the signature of a plug-in may be invalid, which is reported when it is chosen
        return {}
    return {key: o.default for key, o in options.items() if isinstance(o.default, str | int | float | list | None)}


def options_typed(words: Sequence[str], groups: Collection[str], group: str) -> dict[str, Any]:
    """Return the values of the options of ``group``, by GROUP.NAME; all words must be options of ``groups``."""
    with hydra_here(words):
        overrides = OverridesParser.create().parse_overrides(list(words))
    for override in overrides:
        if override.is_sweep_override():
            raise UserError(f"{override.input_line} names several values. Type one of them.")
        if not is_plain(override) or override.key_or_group.partition(".")[0] not in groups:
            forms = " or ".join(f"{group}.NAME=VALUE" for group in groups)
            raise UserError(f"'{override.input_line}' is not an option of a method or a compressor. Type {forms}.")
    return {o.key_or_group: o.value() for o in overrides if o.key_or_group.startswith(f"{group}.")}


def sentence(error: Exception, typed: Sequence[str], source: Source = USUAL) -> str:
    """Return the message for an error of Hydra; ``typed`` is the command line."""
    if isinstance(error, YAMLError):
        return _not_yaml(error)
    if isinstance(error, OverrideParseException):
        return not_a_setting(error.override, str(error))
    if isinstance(error, MissingConfigException) and error.missing_cfg_file:
        group, _, name = error.missing_cfg_file.rpartition("/")
        if group.partition("/")[0] == "experiment":
            return no_such_name("experiment", error.missing_cfg_file.removeprefix("experiment/"), source.folders())
        return no_such(group, name, error.options or [])
    if unknown := re.match(r"Could not override '([^']+)'", str(error)):
        return _no_such_setting(unknown[1], typed, source) or " ".join(str(error).split())
    if several := re.match(r"Ambiguous value for argument '([^']+)'", str(error)):
        return several_values(several[1])
    return " ".join(str(error).split()) or f"Hydra cannot compose the settings: {type(error).__name__}."


def several_values(word: str) -> str:
    return f"{word} names several values. Add -m to run them all."


def _not_yaml(error: YAMLError) -> str:
    """Return the message for invalid YAML: the file, the place in it and the problem."""
    mark = error.problem_mark if isinstance(error, MarkedYAMLError) else None
    if mark is None:
        return f"A configuration file is invalid YAML: {' '.join(str(error).split())}."
    problem = getattr(error, "problem", None) or "syntax error"
    return f"{mark.name} is invalid YAML: line {mark.line + 1}, column {mark.column + 1}: {problem}."


def _no_such_setting(key: str, typed: Sequence[str], source: Source) -> str:
    """Return the message for an unknown setting, with the known options of the chosen members."""
    group, _, option = key.rpartition(".")
    if group == "experiment":
        return _not_in_experiment(option, typed)
    if key in GROUPS:
        return f"One of the keys in {key}={{…}} is unknown. Set them one at a time ({key}.NAME=VALUE) to find it."
    if key.startswith("hydra."):
        return f"Hydra has no setting '{key}'. Type python bench/run.py --cfg hydra to list its settings."
    if group not in GROUPS:
        return no_such_setting(key)
    names = next((word.split("=", 1)[1] for word in typed if word.startswith(f"{group}=")), None)
    if names is None:
        chosen = [word for word in typed if word.split("=")[0] in GROUPS and "," not in word]
        with hydra_here(chosen, source):
            names = hydra.compose(source.name, overrides=chosen)[group].name
    lacking = {name: known for name in names.split(",") if option not in (known := options_of(group, name))}
    if group == "network" and lacking.keys() == {LATER["network"]}:
        return f"network={LATER['network']} has no option '{key}'. Choose a network, as in network=lan {key}=…"
    return " ".join(
        f"{group}={name} has no option '{key}'.{closest(option, known, meant(key))}" for name, known in lacking.items()
    )


def _not_in_experiment(part: str, typed: Sequence[str]) -> str:
    name = next((word.partition("=")[2] for word in typed if word.startswith("experiment=")), None)
    if name is None:
        return f"experiment.{part} needs an experiment. Add experiment=NAME."
    if part == "size":
        return no_size(f"experiment={name}")
    return f"experiment={name} has no '{part}'."


def no_size(experiment: str) -> str:
    return f"{experiment} has no quick size: it sets nothing under 'quick'. Remove experiment.size."
