"""The network of a run: ``network=lan network.slow=4`` on the command line."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from bench.base.errors import UserError
from bench.base.options import AtLeast, Natural, NonNegative, Positive
from bench.base.registry import networks
from bench.clock.files import load_network, network_names
from bench.clock.network import Network


class NoNetwork:
    """No network: the run has no virtual time."""


class RunNetwork:
    """A network file, with other compute times. Annotated class attributes are options, ``network.NAME``."""

    file: str
    """The name of the file."""
    slow: Positive = 1.0
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
        if self.slow != 1:
            changes |= {"slow_node": self.slow_node, "slow_factor": self.slow}
        return found.changed(compute=replace(found.compute, **changes)) if changes else found

    @property
    def source(self) -> str | Path:
        """The name or path of the network file."""
        return self.file


class OwnFile(RunNetwork):
    """A network file of the user."""

    path: Path | None = None

    @property
    def source(self) -> str | Path:
        """The path of the network file."""
        if self.path is None:
            raise UserError("network=file needs the path of a network file. Add network.path=my.yaml.")
        return self.path


def content_of(name: str, options: Mapping[str, Any]) -> str:
    """Return a digest of everything that determines the times on a network."""
    network: Network = networks[name](**options).network()
    parts = [network.latency_s.tobytes(), network.bandwidth.tobytes()]
    others = replace(network, latency_s=np.zeros(0), bandwidth=np.zeros(0), name="", title="", source="")
    return hashlib.sha256(b"|".join([*parts, repr(others).encode()])).hexdigest()[:16]


NONE = "none"
networks.add(NONE, NoNetwork)
networks.add("file", OwnFile)
for _name in network_names():
    networks.add(_name, type(_name, (RunNetwork,), {"file": _name, "__doc__": RunNetwork.__doc__}))
