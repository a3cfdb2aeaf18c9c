"""Seconds of stored runs on a physical network, computed from their costs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from analysis.results.errors import NoData
from analysis.results.results import NETWORK_S, Results
from analysis.results.wording import many
from bench.base.errors import UserError
from bench.base.options import attribute_options
from bench.clock import Network, RunCosts, costs_of_run, network_of_run, seconds
from bench.clock.choice import content_of
from bench.store.record import LATER
from bench.terminal.visible import in_line

COUNTS = ("step", "rounds", "gradients", "bytes", "compute_s")
NONE = LATER["network"]
VIRTUAL = "virtual_s"
FOREIGN = (ArithmeticError, LookupError, MemoryError, RecursionError, TypeError, ValueError)
"""The errors of labels and columns of another program."""
OTHER = "The file of network={name} was edited since. For the present one, add --network {name}."
"""The reason why a run has no time: its network had another content."""
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
            except FOREIGN as error:
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
        except FOREIGN as error:
            wrong[run] = f"Its labels or counts are invalid: {error}."
    sentences = without_time(wrong, network)
    if np.isnan(column).all():
        raise NoData(" ".join(sentences).removesuffix("."))
    rows = results.rows.assign(**{NETWORK_S: column})
    return replace(results, rows=rows, network=network.title or network.name), sentences


def has_networks(results: Results) -> bool:
    """Return whether some ended run has a network of its own, from its setting ``network``."""
    try:
        return bool((_networks(results.finals) != NONE).any())
    except NoData:  # no run has ended
        return False


def on_own_networks(results: Results) -> tuple[Results, list[str]]:
    """Return the results with the column ``NETWORK_S`` on the network of each run, and sentences on runs without one.

    A synchronous run has the time of the clock, with the seed of its network. An asynchronous one has its column
    ``virtual_s``.

    Raises:
        NoData: Some run has no network of its own, or no run has a time.
    """
    own = _networks(results.finals)
    if without := list(results.finals["run_id"][own == NONE]):
        raise NoData(
            f"{many(len(without), 'run')} of {len(own)} {_have(without)} no network, so that there is no time for all: "
            f"{_named(without)}. Choose runs with --where network={next(name for name in own if name != NONE)}, or one "
            "network for all of them with --network NAME"
        )
    places = results.rows.groupby("run_id", sort=False).indices
    column, titles, wrong = np.full(len(results.rows), np.nan), set(), dict[str, str]()
    costs, reasons = costs_of(results, results.finals["run_id"])
    for labels in results.finals[["run_id", *(c for c in results.runs if _of_network(c))]].to_dict("records"):
        run = str(labels["run_id"])
        try:
            own_labels = {str(k): v for k, v in labels.items() if _of_network(str(k)) and pd.notna(v)}
            if asynchronous(results, run):
                titles.add(_title(own_labels))
                column[places[run]] = results.rows[VIRTUAL].to_numpy(float)[places[run]]
                continue
            network, seed, content = _own_network(tuple(sorted(own_labels.items())))
            titles.add(network.title or network.name)
            if _recorded(results.facts.get(run, {}), name := str(labels["network"])) not in (None, content):
                wrong[run] = OTHER.format(name=name)
            elif run in costs:
                column[places[run]] = seconds(replace(costs[run], seed=seed), network).slowest
            else:
                wrong[run] = reasons[run]
        except UserError as error:
            wrong[run] = str(error)
        except FOREIGN as error:
            wrong[run] = f"Its labels are invalid: {error}."
    sentences = without_time(wrong)
    if np.isnan(column).all():
        raise NoData(" ".join(sentences).removesuffix("."))
    title = titles.pop() if len(titles) == 1 else "own network of each run"
    return replace(results, rows=results.rows.assign(**{NETWORK_S: column}), network=title), sentences


def asynchronous(results: Results, run: str) -> bool:
    """Return whether a run has an asynchronous method, by its manifest."""
    return bool((results.facts.get(run, {}).get("algorithm") or {}).get("events"))


def _networks(runs: pd.DataFrame) -> pd.Series:
    """Return the network of every run."""
    return runs["network"].fillna(NONE).astype(str) if "network" in runs else pd.Series(NONE, index=runs.index)


def _title(labels: dict[str, Any]) -> str:
    """Return the title of a network of the suite; of another file, which is not opened, its setting."""
    try:
        return _own_network(tuple(sorted(labels.items())))[0].title
    except UserError:
        return str(labels["network"])


def _of_network(label: str) -> bool:
    return label.partition(".")[0] == "network"


@lru_cache(maxsize=256)
def _own_network(labels: tuple[tuple[str, Any], ...]) -> tuple[Network, int, str]:
    """Return the network of a run by its labels, its seed, and a digest of its present content.

    Runs with the same labels share the network, and so the cache of the clock.
    """
    own = network_of_run(dict(labels))
    assert own is not None
    options = {name: getattr(own, name) for name in attribute_options(type(own))}
    return own.network(), own.seed, content_of(str(dict(labels)["network"]), options)


def _recorded(manifest: Mapping[str, Any], name: str) -> Any:
    """Return the digest of the network that a run was made with; None if its manifest has none."""
    sources = manifest.get("sources")
    found = sources.items() if isinstance(sources, dict) else ()
    return next((digest for key, digest in found if re.fullmatch(rf"network/{re.escape(name)}(-\w+)?", key)), None)


def without_time(wrong: dict[str, str], network: Network | None = None) -> list[str]:
    """Return a sentence for each reason why runs have no time on a network, with the names of these runs.

    Without ``network``, each run has its own.
    """
    where = f"the network '{network.name}'" if network else "their own network"
    by_reason: dict[str, list[str]] = {}
    for run, why in wrong.items():
        by_reason.setdefault(why.replace(f"The run {run}", "A run"), []).append(run)
    out = []
    for why, runs in by_reason.items():
        out.append(in_line(f"{many(len(runs), 'run')} {_have(runs)} no time on {where}: {_named(runs)}. {why}"))
    return out


def _have(runs: Sequence[str]) -> str:
    return "has" if len(runs) == 1 else "have"


def _named(runs: Sequence[str]) -> str:
    return ", ".join(runs[:NAMED]) + (f" and {len(runs) - NAMED} more" if len(runs) > NAMED else "")
