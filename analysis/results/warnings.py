"""What a reader of every figure should know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from analysis.results.plugins import broken, load_plugins
from analysis.results.results import Results
from bench.store.record import FINAL, LATER
from bench.store.software import differing, mixed


def warnings(results: Results) -> list[str]:
    """What a reader of every figure should know: runs that are not in them, and versions that mix."""
    load_plugins()
    out = [f"Plug-in '{name}' is left out, it cannot be imported: {reason}" for name, reason in broken.items()]
    if results.unreadable:
        some = ", ".join(results.unreadable[:3]) + (" …" if len(results.unreadable) > 3 else "")
        one = len(results.unreadable) == 1
        who = "1 run cannot be read and is" if one else f"{len(results.unreadable)} runs cannot be read and are"
        out.append(f"{who} left out: {some}; python bench/status.py says why")
    if results.copies:
        one, some = len(results.copies) == 1, ", ".join(results.copies[:3]) + " …" * (len(results.copies) > 3)
        who = "1 run has" if one else f"{len(results.copies)} runs have"
        out.append(
            f"{who} the settings and the seed of another, and {'is' if one else 'are'} left out: {some}. Make "
            "them again with force=true if they differ in an option that an earlier version did not record."
        )
    states = results.runs["state"].value_counts() if len(results.runs) else {}
    for state in ("running", "interrupted", "failed"):
        if state in states:
            who, them = ("1 run is", "it") if states[state] == 1 else (f"{states[state]} runs are", "them")
            out.append(f"{who} {state}, and in no figure; python bench/status.py shows {them}")
    if sources := mixed_sources(results):
        out.append(
            f"Runs of {', '.join(sources)} were made by different versions of the source: compare with care, or make "
            "them again with stale=rerun."
        )
    facts = [results.facts.get(run, {}) for run in results.runs.get("run_id", [])]
    return [*out, *mixed_software(results.runs, facts)]


def mixed_software(runs: pd.DataFrame, facts: Sequence[Mapping[str, Any]]) -> list[str]:
    """A sentence, where runs that have ended were made with different software."""
    if runs.empty:
        return []
    each = zip(runs["algo"], facts, runs["state"].isin(FINAL), strict=True)
    said = mixed((algo, fact) for algo, fact, ended in each if ended)
    return [said] if said else []


def mixed_note(results: Results, runs: pd.DataFrame) -> list[str]:
    """A note for a caption or table where these runs were made with different software or data."""
    ended = runs[runs["state"].isin(FINAL)] if len(runs) else runs.reindex(columns=["algo", "run_id"])
    names = differing(
        (algo, results.facts.get(run, {})) for algo, run in zip(ended["algo"], ended["run_id"], strict=True)
    )
    some = ", ".join(names[:3]) + f" and {len(names) - 3} more" * (len(names) > 3)
    return [f"These runs were not made with the same software and data: {some} differ"] if names else []


def mixed_sources(results: Results) -> list[str]:
    """Methods of which runs with the same parts have different source fingerprints, where not all of them say more."""
    if results.runs.empty:
        return []
    runs = results.described(results.runs).dropna(subset="fingerprint")
    runs["brief"] = ["sources" not in results.facts.get(run, {}) for run in runs["run_id"]]
    parts = ["algo", "topology", "topology.weights", *LATER, "dataset", "partition", "model"]  # as it is covered
    groups = runs.groupby([c for c in parts if c in runs], dropna=False)
    found = groups.agg(prints=("fingerprint", "nunique"), brief=("brief", "any"))
    return sorted({str(key[0]) for key in found.index[(found["prints"] > 1) & found["brief"]]})
