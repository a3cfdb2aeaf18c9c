"""What a reader of every figure should know."""

from __future__ import annotations

from analysis.results.plugins import broken, load_plugins
from analysis.results.results import Results
from bench.base.record import LATER


def warnings(results: Results) -> list[str]:
    """What a reader of every figure should know: runs that are not in them, and versions that mix."""
    load_plugins()
    out = [f"Plug-in '{name}' is left out, it cannot be imported: {reason}" for name, reason in broken.items()]
    if results.unreadable:
        some = ", ".join(results.unreadable[:3]) + (" …" if len(results.unreadable) > 3 else "")
        one = len(results.unreadable) == 1
        who = "1 run cannot be read and is" if one else f"{len(results.unreadable)} runs cannot be read and are"
        out.append(f"{who} left out: {some}; python bench/status.py says why")
    states = results.runs["state"].value_counts() if len(results.runs) else {}
    for state in ("running", "interrupted", "failed"):
        if state in states:
            who, them = ("1 run is", "it") if states[state] == 1 else (f"{states[state]} runs are", "them")
            out.append(f"{who} {state}, and in no figure; python bench/status.py shows {them}")
    if mixed := mixed_sources(results):
        out.append(
            f"Runs of {', '.join(mixed)} were made by different versions of the source: compare with care, or make "
            "them again with stale=rerun."
        )
    return out


def mixed_sources(results: Results) -> list[str]:
    """Methods of which runs with the same parts have different source fingerprints."""
    if results.runs.empty:
        return []
    runs = results.described(results.runs).dropna(subset="fingerprint")
    parts = ["algo", "topology", "topology.weights", *LATER, "dataset", "partition", "model"]  # as it is covered
    counts = runs.groupby([c for c in parts if c in runs], dropna=False)["fingerprint"].nunique()
    return sorted({str(key[0]) for key, count in counts.items() if count > 1})
