"""Seconds of the board's runs on physical networks, by the clock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from analysis.board.scoring import CostOf
from analysis.results.results import Results
from analysis.results.seconds import costs_of
from bench.base.errors import UserError
from bench.clock import load_network, seconds


def clocks(results: Results, runs: Iterable[str], networks: Iterable[str]) -> dict[str, CostOf]:
    """Return by network the seconds of these runs until each evaluation; runs that it is too small for have none."""
    networks = list(networks)
    costs, _ = costs_of(results, set(runs) if networks else ())
    out: dict[str, CostOf] = {}
    for name in networks:
        network, found = load_network(name), dict[str, np.ndarray]()
        for run, each in costs.items():
            try:
                found[run] = seconds(each, network).slowest
            except UserError:
                continue
        out[name] = _of(found)
    return out


def _of(found: Mapping[str, np.ndarray]) -> CostOf:
    return found.get
