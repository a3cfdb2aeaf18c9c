"""Seconds of the board's runs on physical networks, by the clock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from analysis.board.scoring import CostOf
from analysis.results.results import NETWORK_S, Results
from analysis.results.seconds import costs_of, on_own_networks
from bench.base.errors import UserError
from bench.clock import load_network, seconds


def clocks(results: Results, paid: Mapping[str, float], networks: Iterable[str]) -> dict[str, CostOf]:
    """Return by network the seconds of runs until each evaluation; runs that it is too small for have none.

    ``paid`` is the part of its bytes that each run pays.
    """
    networks = list(networks)
    costs, _ = costs_of(results, paid if networks else ())
    costs = {run: replace(each, bits=each.bits * paid[run]) for run, each in costs.items()}
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


def own_seconds(results: Results, runs: Iterable[str]) -> CostOf:
    """Return the seconds of these runs on their own networks; of asynchronous runs their virtual time."""
    finals = results.finals
    timed, _ = on_own_networks(results.of(finals[finals["run_id"].isin(set(runs))]))
    return _of({run: timed.course(run, NETWORK_S)[1].astype(float) for run in timed.runs["run_id"]})


def _of(found: Mapping[str, np.ndarray]) -> CostOf:
    return found.get
