"""Numbers as they stand in tables, and tables as Markdown, LaTeX and CSV."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from analysis.statistics import Interval, mean
from analysis.tables import Table

SUMMED = ("test_accuracy", "test_loss", "stationarity", "consensus")


def settings(key: dict[str, Any]) -> dict[str, Any]:
    """The labels that tell problems apart, short."""
    shown = {"dataset": key["dataset"], "graph": key["topology"], "n": key["nodes"], "T": key["steps"]}
    usual = {"partition": "even", "scale": 1.0, "init": "shared", "sampling": "replacement", "topology.lazy": False}
    rest = [f"{k}={key[k]}" for k, v in usual.items() if k in key and key[k] != v]
    rest += [f"{k}={key[k]}" for k in ("partition.alpha", "dataset.spike_sd") if pd.notna(key.get(k))]
    return {**shown, "else": " ".join(rest) or "—"}


def summarise(runs: pd.DataFrame) -> tuple[dict[str, Any], dict[str, Any]]:
    """Means and intervals of the final metrics, as numbers and as words. Where any run diverged there is no mean."""
    diverged = int((runs["state"] == "diverged").sum())
    numbers: dict[str, Any] = {}
    words: dict[str, Any] = {}
    for metric in SUMMED:
        values = runs[metric].astype(float) if metric in runs else pd.Series(dtype=float)
        known = len(values) and values.notna().any()
        found = mean(values) if known and not diverged else Interval(np.nan, np.nan, np.nan, len(runs))
        numbers.update({metric: found.value, f"{metric}_low": found.low, f"{metric}_high": found.high})
        words[metric.replace("_", " ")] = interval(found, digits=2 if metric == "test_accuracy" else None)
    return {**numbers, "runs": len(runs), "diverged": diverged}, {**words, "runs": len(runs), "diverged": diverged}


def interval(found: Interval | None, digits: int | None = None, signed: bool = False) -> str:
    """85.12 ± 0.03, or 85.12 where there is no interval; a difference as +0.10 [+0.05, +0.15]."""
    if found is None or np.isnan(found.value):
        return "—"
    if signed:
        places = "+.2f" if max(abs(found.value), abs(found.low), abs(found.high)) >= 0.05 else "+.2g"
        span = f" [{found.low:{places}}, {found.high:{places}}]" if np.isfinite(found.low) else ""
        return f"{found.value:{places}}{span}" if abs(found.value) < 1e4 else f"{found.value:+.3g}"
    if digits is not None:
        return f"{found.value:.{digits}f}" + (
            f" ± {found.high - found.value:.{digits}f}" if np.isfinite(found.high) else ""
        )
    return f"{found.value:.4g}" + (f" ± {found.high - found.value:.2g}" if np.isfinite(found.high) else "")


def markdown(table: Table, title: str) -> str:
    columns = [str(c) for c in table.shown.columns]
    lines = [f"## {title}", "", "| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    for row in table.shown.itertuples(index=False):
        lines.append("| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in row) + " |")
    return "\n".join([*lines, "", *(f"{note[0].upper()}{note[1:]}\n" for note in table.notes)])


SPECIAL = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}
SYMBOLS = {
    "±": r"$\pm$",
    "η": r"$\eta$",
    "ρ": r"$\rho$",
    "—": "---",
    "≤": r"$\le$",
    "²": r"\textsuperscript{2}",
    "−": r"$-$",
    "α": r"$\alpha$",
    "‖": r"$\|$",
    "∇": r"$\nabla$",
}


def latex(table: Table, title: str) -> str:
    """A booktabs table that compiles with nothing but booktabs."""
    columns = [str(c) for c in table.shown.columns]
    lines = [
        f"% {title}",
        r"\begin{tabular}{" + "l" * len(columns) + "}",
        r"\toprule",
        " & ".join(map(_tex, columns)) + r" \\",
        r"\midrule",
    ]
    lines += [" & ".join(_tex(str(cell)) for cell in row) + r" \\" for row in table.shown.itertuples(index=False)]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", *(f"% {note}" for note in table.notes), ""])


def _tex(text: str) -> str:
    return "".join(SYMBOLS.get(char, SPECIAL.get(char, char)) for char in text)


def csv(table: Table) -> str:
    return table.data.to_csv(index=False, lineterminator="\n", float_format="%.10g")
