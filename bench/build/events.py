"""The events of an asynchronous run, from its configuration."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from bench.base.errors import UserError
from bench.build.network import method_of, mixing_of, properties_of
from bench.build.rates import network_of
from bench.clock.choice import NONE
from bench.clock.compute import NANO
from bench.clock.network import Network
from bench.config.run_config import RunConfig
from bench.events.durations import nominal
from bench.events.tape import Tape, draw_tape
from bench.method.asynchronous import Graph, sending
from bench.network.mixing import Mixing
from bench.store.record import LATER
from bench.training.events import Events

RATE = "rate"
"""The option of a method that determines its meetings."""


def check_engine(config: RunConfig, asynchronous: bool) -> None:
    """Raise ``UserError`` if the engine does not suit the method, or an asynchronous run has no valid network."""
    name, engine, method = config.algo.name, config.engine.name, properties_of(config)
    if method.asynchronous != asynchronous:
        kind, other = ("an asynchronous", "events") if method.asynchronous else ("a synchronous", "stacked")
        raise UserError(f"{name} is {kind} method, which engine={engine} does not run. Use engine={other}.")
    if not asynchronous:
        if config.network.options.get("drop"):
            raise UserError(
                f"network.drop={config.network.options['drop']:g} loses messages of asynchronous methods only, and "
                f"{name} is synchronous. Use links=lossy."
            )
        if config.network.name != NONE:
            network = network_of(config)
            network.links(config.nodes)
            network.compute.base(config.nodes, measured_s=0.0)
        return
    if config.network.name == NONE:
        raise UserError(f"{name} is asynchronous: its steps depend on a network. Add network=lan.")
    if config.links.name != LATER["links"]:
        raise UserError(
            f"links={config.links.name} applies to synchronous rounds, and {name} has none. Remove it, and use "
            "network.drop for the loss of messages."
        )
    drop = config.network.options.get("drop")
    if drop and method.events != "messages":
        raise UserError(
            f"network.drop={drop:g} loses messages for good, which {name} does not allow: its nodes wait for each "
            "other or exchange their models in pairs. Remove network.drop."
        )
    mixing = mixing_of(config)
    if mixing.kind != "gossip" or mixing.period != 1:
        raise UserError(f"{name} needs one graph for the whole run, which '{mixing.name}' is not. Use topology=ring.")
    if method.events in ("pairs", "meetings") and mixing.directed:
        raise UserError(f"Two nodes of {name} exchange messages, but '{mixing.name}' is directed. Use topology=ring.")
    network = network_of(config)
    unit = network.compute.gradient_s
    if not unit:
        raise UserError(
            f"The network '{network.name}' has no fixed time of a gradient, which {name} needs. Add "
            "network.gradient_ms=5."
        )
    network.compute.base(config.nodes)
    _tape(_key(config), bits=0, steps=1)  # a pair may need a bipartite graph


def events_of(config: RunConfig) -> Events | None:
    """Return the events of an asynchronous run; None for a synchronous method."""
    if not properties_of(config).asynchronous:
        return None
    mixing, network, key = mixing_of(config), network_of(config), _key(config)
    lasts = network.compute.base(config.nodes) + network.compute.other_s * NANO
    paces, w = lasts / nominal(network.compute), mixing.matrices[0]
    return Events(lambda bits: _tape(key, bits=bits, steps=config.steps), graph_of(config), w, paces, _sends(key))


def tape_of(config: RunConfig, parameters: int) -> Tape:
    """Return all events of an asynchronous run, whose model has so many parameters."""
    method = properties_of(config)
    numbers = int(method.vectors_per_step) * parameters + int(method.scalars_per_step)
    return _tape(_key(config), bits=numbers * 8 * np.dtype(config.dtype).itemsize, steps=config.steps)


def graph_of(config: RunConfig) -> Graph:
    """Return the arcs of the network of an asynchronous run."""
    return Graph(config.nodes, *arcs_of(mixing_of(config)))


def arcs_of(mixing: Mixing) -> tuple[np.ndarray, np.ndarray]:
    messages = mixing.messages(0)
    sent = messages.source != messages.target
    return messages.source[sent], messages.target[sent]


class Key(NamedTuple):
    """What determines a tape, beside its length and the size of a message."""

    mixing: Mixing
    pattern: Any
    rate: float
    network: Network
    seed: int
    drop: float
    quiet: tuple[Any, ...]
    """A method that does not send after every gradient, and its options by name; empty for the others."""


def _key(config: RunConfig) -> Key:
    rate, options = float(config.algo.options.get(RATE, 1)), config.network.options
    cls: Any = method_of(config)
    own = sorted((name, config.algo.options[name]) for name in cls.structure_options())
    quiet = (cls, *own) if sending(cls, config.algo.options) else ()
    events = properties_of(config).events
    return Key(mixing_of(config), events, rate, network_of(config), options["seed"], options["drop"], quiet)


def _sends(key: Key) -> Callable[[np.ndarray], np.ndarray] | None:
    return sending(key.quiet[0], dict(key.quiet[1:])) if key.quiet else None


@lru_cache(maxsize=16)
def _tape(key: Key, *, bits: int, steps: int) -> Tape:
    source, target = arcs_of(key.mixing)
    links = key.network.links(key.mixing.nodes)
    return draw_tape(
        key.pattern,
        source,
        target,
        links.delays(source, target, bits),
        transfer=links.delays(source, target, bits) - links.delays(source, target, 0),
        compute=key.network.compute,
        seed=key.seed,
        nodes=key.mixing.nodes,
        steps=steps,
        lost=key.drop,
        rate=key.rate,
        sends=_sends(key),
    )
