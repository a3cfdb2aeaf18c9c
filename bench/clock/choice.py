"""The network of a run: ``network=lan network.slow=4`` on the command line."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np

from bench.base.errors import UserError, closest
from bench.base.options import AtLeast, Natural, NonNegative, Positive, attribute_options, coerce
from bench.base.registry import networks
from bench.clock.files import load_network, network_names
from bench.clock.network import Network


class NoNetwork:
    """No network: the run has no virtual time."""


class RunNetwork:
    """A network file, with other compute times. Annotated class attributes are options, ``network.NAME``."""

    file: ClassVar[str]
    """The name of the file."""
    slow: Positive | None = 1.0
    slow_node: Natural = 0
    gradient_ms: Positive | None = None
    jitter: NonNegative | None = None
    drop: Annotated[float, AtLeast(0, below=1)] = 0.0
    seed: Natural = 0

    def __init__(self, **options: object) -> None:
        for name, value in options.items():
            setattr(self, name, value)

    def network(self) -> Network:
        """Return the network with these options."""
        found = load_network(self.source)
        changes: dict[str, Any] = {}
        if self.gradient_ms is not None:
            changes["gradient_s"] = self.gradient_ms / 1000
        if self.jitter is not None:
            changes["lognormal_sigma"] = self.jitter
        if self.slow is not None:
            changes |= {"slow_node": None if self.slow == 1 else self.slow_node, "slow_factor": float(self.slow)}
        return found.changed(compute=replace(found.compute, **changes)) if changes else found

    @property
    def source(self) -> str | Path:
        """The name or path of the network file."""
        return self.file


class OwnFile(RunNetwork):
    """A network file of the user."""

    slow: Positive | None = None
    path: Path | None = None

    @property
    def source(self) -> str | Path:
        """The path of the network file."""
        if self.path is None:
            raise UserError("network=file needs the path of a network file. Add network.path=my.yaml.")
        return self.path


def content_of(name: str, options: Mapping[str, Any]) -> str:
    """Return a digest of everything that determines the times on a network."""
    return _digest(networks[name](**options).network())


@lru_cache(maxsize=16)
def network_with(name: str, options: tuple[tuple[str, Any], ...], content: str) -> Network:
    """Return a network by its name, its sorted options and the digest from ``content_of``: always the same object.

    Raises:
        UserError: The file was edited since the digest was computed.
    """
    network: Network = networks[name](**dict(options)).network()
    if _digest(network) != content:
        path = f" network.path={value}" if (value := dict(options).get("path")) else ""
        raise UserError(
            f"The file of network={name}{path} was edited since this command was started: its results would belong to "
            "another run. Start the same command again; finished runs are kept."
        )
    return network


def _digest(network: Network) -> str:
    parts = [network.latency_s.tobytes(), network.bandwidth.tobytes()]
    others = replace(network, latency_s=np.zeros(0), bandwidth=np.zeros(0), name="", title="", source="")
    return hashlib.sha256(b"|".join([*parts, repr(others).encode()])).hexdigest()[:16]


def network_of_run(labels: Mapping[str, Any]) -> RunNetwork | None:
    """Return the network of a stored run by its labels, network and network.OPTION; None if it has none.

    Raises:
        UserError: There is no such network, or a label is invalid.
    """
    name = labels.get("network", NONE)
    if missing(name) or name == NONE:
        return None
    if name not in CHOICES:
        raise UserError(f"There is no network called '{name}'.{closest(str(name), CHOICES)}")
    if issubclass(CHOICES[name], OwnFile):  # the label may come from a stranger, and the file may have changed
        raise UserError(f"network={name} names a file outside the results, which is not opened. Add --network FILE.")
    known = attribute_options(CHOICES[name])
    given = {key.partition(".")[2]: value for key, value in labels.items() if key.startswith("network.")}
    # whole numbers are floats in a table in which they are missing for another run
    kept = {key: _whole(value) for key, value in given.items() if key in known and not missing(value)}
    return CHOICES[name](**coerce(known, kept, "network.", f"network={name}"))


def missing(value: Any) -> bool:
    """Return whether a label of a stored run has no value."""
    return value is None or (isinstance(value, float) and bool(np.isnan(value)))


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


NONE = "none"
CHOICES: dict[str, type[RunNetwork]] = {"file": OwnFile} | {
    name: type(name, (RunNetwork,), {"file": name, "__doc__": RunNetwork.__doc__}) for name in network_names()
}
"""The networks of runs that have one."""
networks.add(NONE, NoNetwork)
for _name, _choice in CHOICES.items():
    networks.add(_name, _choice)
