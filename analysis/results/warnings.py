"""Warnings for readers of figures and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from analysis.results.declarations import disputed
from analysis.results.plugins import broken, load_plugins
from analysis.results.results import Results
from analysis.results.wording import many
from bench.store.record import FINAL, LATER, STATES
from bench.store.software import differing, mixed
from bench.terminal.visible import in_line


def warnings(results: Results) -> list[str]:
    """Return the warnings about results: skipped plug-ins and runs, and runs of different versions."""
    load_plugins()
    out = [f"Skipping plug-in '{name}', which cannot be imported: {reason}" for name, reason in broken.items()]
    out += unreadable(results)
    if results.copies:
        out.append(
            f"Skipping {many(len(results.copies), 'run')} with the same settings and seed as another run: "
            f"{_some(results.copies)}. If they differ in an option that an earlier version did not record, repeat "
            "them with force=true."
        )
    out += unended(results)
    if sources := mixed_sources(results):
        out.append(
            f"Runs of {', '.join(sources)} were made by different versions of the source. Compare them with care, or "
            "repeat the older ones with stale=rerun."
        )
    for kind, said in (("method", results.said_of_methods), ("metric", results.said_of_metrics)):
        out += [
            f"Runs declare different values of '{entry}' for the {kind} '{name}'. Using the declaration of most runs."
            for name, entry in disputed(said).items()
        ]
    facts = [results.facts.get(run, {}) for run in results.runs.get("run_id", [])]
    return [in_line(sentence) for sentence in (*out, *mixed_software(results.runs, facts))]


def unreadable(results: Results) -> list[str]:
    """Return a warning if some runs could not be read."""
    if not results.unreadable:
        return []
    reasons = results.reasons
    names = [f"{name} ({reasons[name]})" if name in reasons else name for name in results.unreadable]
    remedy = " Run python bench/status.py for the reason." * any(name not in reasons for name in results.unreadable)
    return [in_line(f"Skipping {many(len(names), 'unreadable run')}: {_some(names)}.{remedy}")]


def unended(results: Results) -> list[str]:
    """Return a warning for each state of runs that have not ended, and for ended runs without evaluations."""
    if results.runs.empty:
        return []
    runs, out = results.runs, list[str]()
    for state, some in runs.loc[~runs["state"].isin(FINAL), "run_id"].groupby(runs["state"].astype(str)):
        if state in STATES:
            out.append(f"Skipping {many(len(some), f'{state} run')}. Run python bench/status.py for a list.")
        else:  # W&B has states of its own, which a run has until its summary has one
            ended = f"{', '.join(FINAL[:-1])} or {FINAL[-1]}"
            out.append(
                f"Skipping {many(len(some), 'run')} with the state '{state}': {_some([*some])}. Ended runs are "
                f"{ended}. To upload runs again, type python bench/sync.py RESULTS."
            )
    bare = [*runs.loc[runs["state"].isin(FINAL) & ~runs["run_id"].isin(results.rows["run_id"]), "run_id"]]
    return [*out, *([f"Skipping {many(len(bare), 'run')} without evaluations: {_some(bare)}."] if bare else [])]


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + " …" * (len(names) > 3)


def mixed_software(runs: pd.DataFrame, facts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a warning if ended runs were made with different software."""
    if runs.empty:
        return []
    each = zip(runs["algo"], facts, runs["state"].isin(FINAL), strict=True)
    sentence = mixed((algo, fact) for algo, fact, ended in each if ended)
    return [sentence] if sentence else []


def mixed_note(results: Results, runs: pd.DataFrame) -> list[str]:
    """Return a note for a caption or table if these runs were made with different software or data."""
    ended = runs[runs["state"].isin(FINAL)] if len(runs) else runs.reindex(columns=["algo", "run_id"])
    names = differing(
        (algo, results.facts.get(run, {})) for algo, run in zip(ended["algo"], ended["run_id"], strict=True)
    )
    some = ", ".join(names[:3]) + f" and {len(names) - 3} more" * (len(names) > 3)
    return [f"These runs differ in software or data: {some}"] if names else []


def mixed_sources(results: Results) -> list[str]:
    """Return the methods with runs of the same parts but different fingerprints, if some runs record nothing more."""
    if results.runs.empty:
        return []
    runs = results.described(results.runs).dropna(subset="fingerprint")
    runs["brief"] = ["sources" not in results.facts.get(run, {}) for run in runs["run_id"]]
    parts = [
        "algo",
        "topology",
        "topology.weights",
        *LATER,
        "dataset",
        "partition",
        "model",
    ]  # parts that the fingerprint covers
    groups = runs.groupby([c for c in parts if c in runs], dropna=False)
    found = groups.agg(prints=("fingerprint", "nunique"), brief=("brief", "any"))
    return sorted({str(key[0]) for key in found.index[(found["prints"] > 1) & found["brief"]]})
