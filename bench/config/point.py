"""One configuration of a command, and the references of its values to other settings."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, NamedTuple

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf, flag_override
from omegaconf.errors import OmegaConfBaseException

from bench.base.errors import UserError
from bench.config.compose import resolved


class Base(NamedTuple):
    """The composition of one combination of group members."""

    values: dict[str, Any]
    experiment: Any
    refers: bool  # a value refers to another setting: resolve it after all values are set
    hydra: DictConfig  # for references ${hydra:...}

    def chosen_by(self, experiment: Base, block: Mapping[str, Any]) -> Base:
        """Return this composition, in which ${hydra:...} in a block finds the name of its experiment."""
        if "${hydra:" not in str(block):
            return self
        whole = copy.deepcopy(self.hydra)
        with flag_override(whole.hydra, ["readonly", "struct"], [False, False]):
            whole.hydra.runtime.choices.experiment = experiment.hydra.hydra.runtime.choices.get("experiment")
        return self._replace(hydra=whole)


class Point(NamedTuple):
    """One configuration: a base, and plain values that replace some of its own."""

    base: Base
    given: Mapping[str, Any]
    experiment: Any = None  # for references ${experiment...}

    def values(self) -> dict[str, Any]:
        values = copy.deepcopy(self.base.values)
        for key, value in self.given.items():
            _set(values, key, value)
        if not self.base.refers and "${" not in str(self.given):
            return values
        HydraConfig.instance().set_config(self.base.hydra)
        config = OmegaConf.create({**values, "experiment": self.experiment})
        return {key: resolved(node) if OmegaConf.is_config(node := config[key]) else node for key in values}


def refers(values: Any) -> bool:
    """Return whether values refer to other settings; the environment is the same for all runs."""
    text = str(values)
    return text.count("${") > text.count("${oc.env:")


def experiment_of(node: Any) -> Any:
    """Return an experiment with its references to single values, since each run of a block has its own."""
    if not OmegaConf.is_config(node):
        return node
    plain: Any = OmegaConf.to_container(node, resolve=False)
    for key in plain if isinstance(plain, dict) else range(len(plain)):
        if isinstance(plain[key], dict | list):
            plain[key] = experiment_of(node[key])
        elif OmegaConf.is_interpolation(node, key):
            plain[key] = _settled(node, key, plain[key])
    return plain


def _settled(node: Any, key: Any, reference: str) -> Any:
    """Return the list that a reference names, or its value if this is the same for all runs; else the reference."""
    try:
        value = node[key]
    except OmegaConfBaseException:  # an option of another member, or an error that the run reports
        return reference
    if OmegaConf.is_config(value):
        return resolved(value)
    return reference if refers(reference) and not isinstance(value, dict | list) else value


def _set(values: dict[str, Any], key: str, value: Any) -> None:
    *parents, leaf = key.split(".")
    for parent in parents:
        if not isinstance(values.get(parent), dict):
            raise UserError(f"There is no setting called '{key}'.")
        values = values[parent]
    values[leaf] = value
