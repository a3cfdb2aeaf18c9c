"""Configured runs of asynchronous methods for tests, without Hydra."""

from __future__ import annotations

from typing import Any

from bench.config.run_config import RunConfig
from bench.training.costs import Stopwatch
from tests.helpers import configs

LAN = {"name": "lan", "slow": 4.0, "gradient_ms": 0.3, "jitter": 0.5}
QUADRATICS = {"name": "quadratics", "dimension": 3, "noise": 0.5}


def config(algo: str | dict[str, Any], **changes: Any) -> RunConfig:
    """A run of six nodes on a local network with one slow node, on noisy quadratics."""
    algo = {"name": algo, "eta": 0.05} if isinstance(algo, str) else algo
    changes = {"engine": "events", "dataset": QUADRATICS, "steps": 18, "eval_every": 3, **changes}
    network = changes.pop("network", LAN)
    network = {"name": network} if isinstance(network, str) else network
    return configs.config(algo=algo, network=network, **changes)


def numbers(row: dict[str, Any]) -> dict[str, Any]:
    """What two runs of one configuration have in common: everything but seconds of this machine."""
    return {name: value for name, value in row.items() if name not in Stopwatch.NAMES}
