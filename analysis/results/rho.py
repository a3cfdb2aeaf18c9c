"""What ρ of a network is, in the words of titles and captions."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from analysis.results.results import Results

DISTANCE = "the distance of the nodes from their mean"
ROUND, PERIOD, MEAN, RATE = (
    f"after one round of gossip, {DISTANCE} is at most ρ times the distance before",
    f"after all rounds of one period, {DISTANCE} is at most ρ times the distance before",
    f"after one round of gossip, the root mean square of {DISTANCE} is at most ρ times the distance before",
    "the second largest absolute value of the eigenvalues, the rate of gossip in the long run",
)


def rho_in_words(results: Results, runs: Collection[str]) -> list[str]:
    """Return a sentence for each kind of ρ that the networks of these runs have."""
    kinds: dict[str, dict[str, None]] = {}
    for run, topology in zip(results.runs["run_id"], results.runs["topology"], strict=True):
        mixing = mixing_of(results, run)
        if run in runs and mixing.get("rho", 0) is not None:  # unknown for some networks with packet loss
            kinds.setdefault(_kind(mixing), {})[str(topology)] = None
    graphs = {kind: f" of {', '.join(names)}" if len(kinds) > 1 else "" for kind, names in kinds.items()}
    return [f"{'second |λ|' if kind == RATE else 'ρ'}{of}: {kind}" for kind, of in graphs.items()]


def rho_text(mixing: Mapping[str, Any], rho: float) -> str:
    """ρ = 0.805"""
    kind = _kind(mixing)
    return f"{'second |λ|' if kind == RATE else 'ρ'} = {max(rho, 0):.3f}{' per period' if kind == PERIOD else ''}"


def mixing_of(results: Results, run: str) -> Mapping[str, Any]:
    """Return the facts about the network of a run; empty if they are not known."""
    mixing = results.facts.get(run, {}).get("mixing")
    return mixing if isinstance(mixing, Mapping) else {}


def _kind(mixing: Mapping[str, Any]) -> str:
    """Return what ρ of a network bounds; runs of earlier versions, which do not say it, had one matrix."""
    said = str(mixing.get("rho_is", ""))
    if mixing.get("biased") or "eigenvalue" in said:
        return RATE
    if "E[" in said:
        return MEAN
    return PERIOD if "period" in said else ROUND
