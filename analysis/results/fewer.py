"""Results with some metrics only, for archives of many runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from analysis.results.errors import NoData
from analysis.results.results import Results

COUNTS = ("run_id", "step", "epoch", "samples", "gradients", "rounds", "scalars_sent", "bytes", "virtual_s")
"""Columns that stay: they cost little."""
OF_NODES = ("classes", "samples", "evaluated")
"""Entries of the data in a manifest that differ between seeds: the samples of every node."""


def with_metrics(results: Results, names: Collection[str]) -> Results:
    """Return the results with these metrics and the counts, and without the samples of every node in the manifests.

    Raises:
        NoData: No run has such a metric.
    """
    if unknown := [name for name in names if name not in results.rows]:
        raise NoData(f"no run has the metric '{unknown[0]}'; there are {', '.join(results.rows.columns)}")
    rows = results.rows[[name for name in results.rows if name in COUNTS or name in names]]
    return replace(results, rows=rows, facts={run: _without_nodes(fact) for run, fact in results.facts.items()})


def _without_nodes(fact: Mapping[str, Any]) -> dict[str, Any]:
    data = {key: value for key, value in (fact.get("data") or {}).items() if key not in OF_NODES}
    return {**fact, **({"data": data} if "data" in fact else {})}
