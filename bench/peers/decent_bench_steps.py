"""D-SGD (ATC) and gradient tracking (ATC-Tracking) with decent-bench, in a Python environment of its own.

Usage: python decent_bench_steps.py ARRAYS.npz, as bench/peers/run.py does. The first line of the output has versions.
Each line of the input, {"method": …, "steps": …, "eta": …, "check": …}, gets a line {"ms": …, "x": …}, all in JSON.
"""

from __future__ import annotations

import json
import platform
import sys
import time
from importlib.metadata import version
from typing import Any

import networkx as nx
import numpy as np
from decent_array import interoperability as iop
from decent_bench.agents import Agent
from decent_bench.algorithms.p2p import ATC, ATC_Tracking
from decent_bench.costs import LogisticRegressionCost
from decent_bench.networks import P2PNetwork

METHODS = {"dsgd": ATC, "dsgt": ATC_Tracking}
NEVER = 10**9


class OnGivenRows(LogisticRegressionCost):  # type: ignore[misc, unused-ignore]
    """Logistic regression on mini-batches that are given, for the check of the iterates."""

    def __init__(self, dataset: Any, rows: np.ndarray) -> None:
        super().__init__(dataset, rows.shape[1])
        self._given = iter(rows.tolist())

    def _sample_batch_indices(self, indices: Any = "batch") -> list[int]:
        self._last_batch_used: list[int] = next(self._given)
        return self._last_batch_used


def network_of(arrays: dict[str, np.ndarray], check: bool) -> Any:
    agents = []
    for features, labels, rows in zip(arrays["features"], arrays["labels"], arrays["rows"], strict=True):
        pairs = zip(features, labels[:, None], strict=True)
        dataset = [(iop.from_numpy(x), iop.from_numpy(y)) for x, y in pairs]
        cost = OnGivenRows(dataset, rows) if check else LogisticRegressionCost(dataset, rows.shape[1])
        agents.append(Agent(cost, state_snapshot_period=NEVER))
    links = arrays["weights"] - np.diag(np.diag(arrays["weights"]))
    network = P2PNetwork(nx.from_numpy_array(links), agents)
    network.weights = iop.from_numpy(arrays["weights"])
    return network


def run(network: Any, start: np.ndarray, method: str, steps: int, eta: float) -> dict[str, Any]:
    """Return the milliseconds per step in the second half of the steps, and the last iterates."""
    ends: dict[int, float] = {}
    half = steps // 2
    x0 = dict(zip(network.agents(), map(iop.from_numpy, start), strict=True))

    def note(k: int) -> None:
        if k + 1 in (half, steps):
            ends[k + 1] = time.perf_counter()

    METHODS[method](step_size=eta, x0=x0).run(network, steps, progress_callback=note)
    ms = 1e3 * (ends[steps] - ends[half]) / (steps - half)
    return {"ms": ms, "x": [iop.to_numpy(agent.x).tolist() for agent in network.agents()]}


def main() -> None:
    iop.set_backend("numpy")
    with np.load(sys.argv[1]) as file:
        arrays = dict(file)
    network = network_of(arrays, check=False)
    print(json.dumps({"decent-bench": version("decent-bench"), "python": platform.python_version()}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        on = network_of(arrays, check=True) if request.pop("check") else network
        print(json.dumps(run(on, arrays["start"], **request)), flush=True)


if __name__ == "__main__":
    main()
