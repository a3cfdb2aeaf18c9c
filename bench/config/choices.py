"""The groups of registered names, and the options of each member."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

from bench.base import registry
from bench.base.options import Option, Options, attribute_options, keyword_options


@dataclass(frozen=True)
class Choice:
    """A registered name and its options."""

    name: str
    options: dict[str, Any]


def members(group: str) -> list[str]:
    """Return the registered names of a group."""
    return sorted(TRACKERS if group == "tracker" else REGISTRIES[group])


@cache
def options_of(group: str, name: str) -> Options:
    """Return the options of one member of a group."""
    if group == "tracker":
        return TRACKERS[name]
    member = REGISTRIES[group][name]
    if group == "algo":
        return member.options()
    if group == "topology":
        if member.kind != "gossip":
            return {}
        biased, weights = {"allow_biased": Option(bool, False)}, {"weights": Option(str, member.weights)}
        own = biased if member.weights is None else weights
        return {**keyword_options(member.graph), **own, "lazy": Option(bool, False)}
    if group in ("engine", "links", "compressor", "regularizer", "network"):
        return attribute_options(member)
    is_class, build = isinstance(member, type), member
    return keyword_options(build.__init__ if is_class else build)


def with_option(option: str) -> list[str]:
    """Return GROUP.OPTION for each group with a member that has this option."""
    return [f"{group}.{option}" for group in (*REGISTRIES, "tracker") if _has(group, option)]


def _has(group: str, option: str) -> bool:
    for name in members(group):
        with suppress(Exception):  # the signature of a plug-in may be invalid, which is reported when it is chosen
            if option in options_of(group, name):
                return True
    return False


def types_of(group: str, option: str) -> list[Any]:
    """Return the types of an option in all members of a group that have it."""
    out = []
    for name in members(group):
        with suppress(Exception):  # as in _has
            out += [known[option].type] if option in (known := options_of(group, name)) else []
    return out


REGISTRIES: dict[str, registry.Registry[Any]] = {
    "algo": registry.algorithms,
    "topology": registry.topologies,
    "dataset": registry.datasets,
    "partition": registry.partitions,
    "model": registry.models,
    "engine": registry.engines,
    "links": registry.links,
    "compressor": registry.compressors,
    "loss": registry.losses,
    "regularizer": registry.regularizers,
    "network": registry.networks,
}
TRACKERS: dict[str, Options] = {
    "none": {},
    "wandb": {"project": Option(str, "hearsay"), "entity": Option(str | None, None)},
}
