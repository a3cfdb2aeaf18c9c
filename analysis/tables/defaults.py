"""Table of the default setting of every method, chosen by its mean score over several problems."""

from __future__ import annotations

from typing import Any

import pandas as pd

from analysis.drawing.symbols import in_symbols, symbol
from analysis.results.labels import method_name, methods
from analysis.results.results import Results
from analysis.study.defaults import POOLED, Choice, choices
from analysis.study.figure_options import FigureOptions
from analysis.study.score import COUNT, LIMIT
from analysis.tables import Table, table

NOTES = [
    "score: log2 of the gradients per node that tuned D-SGD needs over those that the method needs, averaged over "
    f"{COUNT} losses between the start and a reference, each between -{LIMIT:g} and {LIMIT:g}; then over seeds and "
    "problems",
    "the reference is the known minimum, or the lowest median final loss of the methods on the average of all nodes",
    "a missed loss, and every loss of a diverged run, costs twice the budget",
    "edge: the chosen value is the smallest or largest of its grid",
]


@table("defaults", "Default settings, chosen on development problems", uses=())
def make(results: Results, request: FigureOptions) -> Table:
    found = {(choice.algo, choice.pooled): choice for choice in choices(results)}
    order = methods({algo for algo, _ in found}, results)
    rows = [found[algo, pooled] for algo in order for pooled in (False, True) if (algo, pooled) in found]
    return Table(
        pd.DataFrame([_cells(results, choice) for choice in rows], dtype=object),
        pd.DataFrame([_data(choice) for choice in rows]),
        NOTES,
    )


def _cells(results: Results, choice: Choice) -> dict[str, str]:
    """Return a row for readers, with the losses on the first problem."""
    first = next(iter(choice.parts))
    return {
        "method": method_name(choice.algo, results),
        "graph": POOLED if choice.pooled else "gossip",
        "setting": in_symbols(choice.values),
        "edge": ", ".join(map(symbol, choice.edges)) or "—",
        "score": f"{choice.score:+.2f}",
        **{name: f"{part:+.2f}" for name, part in choice.parts.items()},
        f"start ({first})": f"{choice.start[first]:.3g}",
        f"final ({first})": f"{choice.final[first]:.3g}",
        "diverged": str(choice.diverged),
    }


def _data(choice: Choice) -> dict[str, Any]:
    """Return a row of the CSV."""
    return {
        "algo": choice.algo,
        "pooled": choice.pooled,
        **choice.values,
        "edge": " ".join(choice.edges),
        "score": choice.score,
        **{f"score_{name}": value for name, value in choice.parts.items()},
        **{f"start_{name}": value for name, value in choice.start.items()},
        **{f"final_{name}": value for name, value in choice.final.items()},
        "diverged": choice.diverged,
    }
