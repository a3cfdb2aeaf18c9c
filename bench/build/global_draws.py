"""Detects code of plug-ins that draws from the global random generators of torch, NumPy and Python.

Their numbers depend on the calls before, which differ between engines, numbers of ranks and resumed runs.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from bench.base.errors import UserError
from bench.base.registry import (
    Registry,
    algorithms,
    compressors,
    datasets,
    links,
    losses,
    metrics,
    models,
    networks,
    partitions,
    regularizers,
    schedules,
    topologies,
    weight_rules,
)
from bench.build.fingerprint import choices, is_plugin, is_plugin_model
from bench.config.run_config import RunConfig

FIXED = "a generator with a fixed seed, such as np.random.default_rng(0)"
SEEDED = "generator(seed, node, 'NAME', t) of bench.base.randomness"
KINDS: dict[Registry[Any], tuple[str, str]] = {
    algorithms: ("algo", "self.coin(t, p)"),
    compressors: ("compressor", "the argument draws"),
    datasets: ("dataset", "setting.draw in a problem, and with np.random.default_rng(0) in a function"),
    links: ("links", SEEDED),
    losses: ("loss", FIXED),
    metrics: ("metric", FIXED),
    models: ("model", "the generator that initial receives; a torch.nn.Module may draw in __init__ only"),
    networks: ("network", SEEDED),
    partitions: ("partition", "the generator that it receives"),
    regularizers: ("regularizer", FIXED),
    schedules: ("algo.schedule", FIXED),
    topologies: ("topology", f"the generator that it receives if drawn=True, else with {FIXED}"),
    weight_rules: ("topology.weights", FIXED),
}
"""The setting of each kind of plug-in, and how its code can draw."""


def plugins_of(config: RunConfig) -> dict[str, str]:
    """Return the plug-ins of a run, as in links=mine, and how the code of each can draw. All metrics are plug-ins."""
    chosen = [*choices(config), (networks, config.network.name)]
    found = [(registry, name) for registry, name in chosen if is_plugin(registry, name)]
    found += [(models, config.model.name)] if is_plugin_model(config) else []
    found += [(metrics, name) for name in metrics]
    return {f"{KINDS[registry][0]}={name}": KINDS[registry][1] for registry, name in found}


class GlobalDraws:
    """The states of the global generators when this object was made."""

    def __init__(self) -> None:
        self._before = {name: state() for name, state in STATES.items()}

    def used(self) -> str | None:
        """Return the module of a generator that has been used since; None if there is none."""
        return next((name for name, before in self._before.items() if STATES[name]() != before), None)

    def check(self, plugins: Mapping[str, str]) -> None:
        """Raise ``UserError`` if there are plug-ins, and a generator has been used since."""
        if plugins and (name := self.used()):
            raise UserError(
                f"{either(plugins)} draws from the global generator of {name}, so its numbers would differ between "
                f"engines and in resumed runs. {remedy(plugins)}"
            )


def either(plugins: Mapping[str, str]) -> str:
    """Return the plug-ins of which one is meant."""
    return " or ".join(plugins)


def remedy(plugins: Mapping[str, str]) -> str:
    """Return how the code of these plug-ins can draw."""
    kinds = dict.fromkeys(plugins.values())
    if len(kinds) == 1:
        return f"Draw with {next(iter(kinds))}."
    named = {how: " and ".join(name for name in plugins if plugins[name] == how) for how in kinds}
    return " ".join(f"In {names}, draw with {how}." for how, names in named.items())


def _of_numpy() -> object:
    state: Any = np.random.get_state(legacy=True)
    name, keys, *rest = state
    return name, keys.tobytes(), rest


STATES: dict[str, Callable[[], object]] = {
    "torch": lambda: torch.get_rng_state().numpy().tobytes(),
    "np.random": _of_numpy,
    "random": random.getstate,
}
"""The states of the global generators, which can be compared."""
