"""Seconds of stored runs on a physical network, computed from their costs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from analysis.results.errors import NoData
from analysis.results.results import NETWORK_S, Results
from analysis.results.wording import many
from bench.base.errors import UserError
from bench.clock import Network, RunCosts, costs_of_run, seconds

COUNTS = ("step", "rounds", "gradients", "bytes", "compute_s")
NAMED = 3
"""The largest number of runs that a sentence names."""


def costs_of(results: Results, runs: Iterable[str]) -> tuple[dict[str, RunCosts], dict[str, str]]:
    """Return the costs of these runs by name, and for runs without costs the reason."""
    wanted, out, wrong = set(runs), dict[str, RunCosts](), dict[str, str]()
    columns = [name for name in COUNTS if name in results.rows]
    for labels in results.runs.to_dict("records"):
        run = str(labels["run_id"])
        if run in wanted:
            rows = {name: results.course(run, name)[1] for name in columns}
            try:
                out[run] = costs_of_run({str(k): v for k, v in labels.items()}, results.facts.get(run, {}), rows)
            except UserError as error:
                wrong[run] = str(error)
            except (TypeError, ValueError) as error:  # labels or columns of another program
                wrong[run] = f"Its labels or counts are invalid: {error}."
    return out, wrong


def on_network(results: Results, network: Network) -> tuple[Results, list[str]]:
    """Return the results with the column ``NETWORK_S`` for all ended runs, and sentences on runs without a time.

    Raises:
        NoData: No run has a time on the network.
    """
    costs, wrong = costs_of(results, results.finals["run_id"])
    places = results.rows.groupby("run_id", sort=False).indices
    column = np.full(len(results.rows), np.nan)
    for run, each in costs.items():
        try:
            column[places[run]] = seconds(each, network).slowest
        except UserError as error:
            wrong[run] = str(error)
    sentences = without_time(wrong, network)
    if np.isnan(column).all():
        raise NoData(" ".join(sentences).removesuffix("."))
    rows = results.rows.assign(**{NETWORK_S: column})
    return replace(results, rows=rows, network=network.title or network.name), sentences


def without_time(wrong: dict[str, str], network: Network) -> list[str]:
    """Return a sentence for each reason why runs have no time on a network, with the names of these runs."""
    by_reason: dict[str, list[str]] = {}
    for run, why in wrong.items():
        by_reason.setdefault(why.replace(f"The run {run}", "A run"), []).append(run)
    out = []
    for why, runs in by_reason.items():
        names = ", ".join(runs[:NAMED]) + (f" and {len(runs) - NAMED} more" if len(runs) > NAMED else "")
        have = "has" if len(runs) == 1 else "have"
        out.append(f"{many(len(runs), 'run')} {have} no time on the network '{network.name}': {names}. {why}")
    return out
