"""The parameters that `wandb agent` chose for a run. W&B would write them over the labels of the run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from bench.base import renamed
from bench.base.account import AGENTS, has_agent
from bench.base.errors import UserError
from bench.base.small_file import content_up_to
from bench.base.unique_yaml import load_unique
from bench.config.run_config import GROUPS, RunConfig, parse

FILE = AGENTS[2]
"""The variable with the path of the parameter file."""


def parameters() -> dict[str, Any]:
    """Return the parameters by name, nested ones as OUTER.INNER; none without an agent.

    Raises:
        UserError: The file is not a parameter file.
    """
    path = os.environ.get(FILE)
    if not path or not has_agent() or not Path(path).is_file():
        return {}
    try:
        content = load_unique(content_up_to(Path(path)).decode()) or {}
        chosen = {str(name): entry["value"] for name, entry in content.items() if name != "wandb_version"}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, yaml.YAMLError) as error:
        raise UserError(
            f"{FILE}={path} is not a parameter file of `wandb agent` ({type(error).__name__}). Unset {FILE}, "
            "WANDB_SWEEP_ID and WANDB_RUN_ID, or start the command with `wandb agent`."
        ) from error
    return _flat(chosen)


def _flat(values: Mapping[Any, Any], before: str = "") -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, value in values.items():
        out |= _flat(value, f"{before}{name}.") if isinstance(value, Mapping) else {f"{before}{name}": value}
    return out


def reject_other_parameters(config: RunConfig) -> None:
    """Raise a UserError if the agent chose another value for a setting than the run has."""
    for name, value in parameters().items():
        actual = _actual(config, name)
        if actual is UNKNOWN or any(_same(config, name, actual, reading) for reading in _readings(value)):
            continue
        has = f"does not have the setting {name}" if actual is MISSING else f"has {name}={_word(actual)}"
        raise UserError(
            f"`wandb agent` chose {name}={_word(value)} for this run, but the command {has}. End the command of the "
            f"W&B sweep with ${{args_no_hyphens}} and remove {name}=… from it, or remove {name} from the parameters of "
            "the sweep."
        )


UNKNOWN, MISSING = object(), object()
"""Of a parameter: it is no setting of hearsay; it is an option that this run does not have."""


def _actual(config: RunConfig, name: str) -> Any:
    """Return the value of a setting or label of a run, UNKNOWN or MISSING."""
    key, value = renamed.setting(name), config.plain()
    group = key.partition(".")[0]
    if group not in value:
        return config.labels().get(name, UNKNOWN)  # such as eta, run_id
    for part in (key if "." in key or group not in GROUPS else f"{key}.name").split("."):
        if not isinstance(value, Mapping) or part not in value:
            return MISSING
        value = value[part]
    return value


def _readings(value: Any) -> list[Any]:
    """Return the value, and for a text also what it means on a command line."""
    out = [value]
    for read in (load_unique, float) if isinstance(value, str) else ():
        with suppress(yaml.YAMLError, ValueError):
            out.append(read(value))  # YAML takes 1e-1 for a text
    return out


def _same(config: RunConfig, name: str, actual: Any, value: Any) -> bool:
    """Return whether a run with this value of the setting is the same run."""
    if actual == value and isinstance(actual, bool) == isinstance(value, bool):
        return True
    values, (group, _, option) = config.plain(), renamed.setting(name).partition(".")
    if actual is MISSING or group not in values:
        return False
    values[group] = {**values[group], option or "name": value} if group in GROUPS else value
    try:
        return parse(values) == config  # 1e-1 is 0.1, and a path may be written in several ways
    except UserError:
        return False


def _word(value: Any) -> str:
    return "null" if value is None else str(value)
