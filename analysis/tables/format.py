"""Numbers as they stand in tables, and tables as Markdown and CSV."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from analysis.drawing.symbols import LETTERS
from analysis.results.errors import NoData, perhaps
from analysis.results.labels import direction, metric_in_words, metric_name
from analysis.results.results import Results
from analysis.study.figure_options import USUAL, FigureOptions
from analysis.study.settings import Apart, Key
from analysis.study.statistics import Interval, mean
from analysis.tables import Table
from bench.store.record import COLUMNS
from bench.terminal.visible import visible

SUMMED = ("test_accuracy", "test_loss", "stationarity", "consensus")
MORE = ("train_loss",)
"""In the CSV; in the table if it is asked for, like any metric."""


SETTING = ("dataset", "graph", "n", "T", "else")


def with_settings(rows: Sequence[tuple[Key, dict[str, Any]]]) -> pd.DataFrame:
    """Rows with their settings before them: what tells those of this table apart."""
    among, shown = Apart(key for key, _ in rows), []
    for key, cells in rows:
        setting = {"dataset": key["dataset"], "graph": key["topology"], "n": key["nodes"], "T": key["steps"]}
        shown.append({**setting, "else": among.in_labels(key) or "—", **cells})
    return pd.DataFrame(shown, dtype=object)


class Number(str):
    """A number as it is shown, which knows what it is: for those who round, compare or print it in another way."""

    found: Interval
    more_is_better: bool | None  # None where nobody said which way is better
    values: pd.Series  # by seed
    precision: float  # of the type it was computed in, relative to its size
    noise: float  # below which it is nothing but rounding

    def __new__(
        cls,
        text: str,
        found: Interval,
        more_is_better: bool | None,
        values: pd.Series,
        precision: float = 0.0,
        noise: float = 0.0,
    ) -> Number:
        made = super().__new__(cls, text)
        made.found, made.more_is_better, made.values = found, more_is_better, values
        made.precision, made.noise = precision, noise
        return made


SQUARES = ("stationarity", "consensus", "consensus_z")
LENGTH = 10.0
"""Of the vectors whose rounding errors these are the squares of, about."""


def _precision(runs: pd.DataFrame) -> float:
    """Of the coarsest type that these runs were computed in."""
    types = set(runs["dtype"].dropna()) if "dtype" in runs else set()
    return max((float(np.finfo(name).eps) for name in types), default=0.0)


def summarize(
    runs: pd.DataFrame, results: Results, request: FigureOptions = USUAL
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Means and intervals of the final metrics, as numbers and as words. Where any run diverged there is no mean, nor
    one of a loss or an error where any is diverging."""
    states = runs["state"].value_counts()
    numbers: dict[str, Any] = {}
    words: dict[str, Any] = {}
    precision = _precision(runs)
    told = list(dict.fromkeys([*(request.metrics or (*SUMMED, *results.measures)), *also(results, request.columns)]))
    for metric in dict.fromkeys([*told, *SUMMED, *MORE, *results.measures]):
        more = direction(metric, results)
        values = runs[metric].astype(float) if metric in runs else pd.Series(dtype=float)
        known = len(values) and values.notna().any() and "nonfinite" not in states
        found = (
            mean(values)
            if known and (more or "diverging" not in states)
            else Interval(np.nan, np.nan, np.nan, len(runs))
        )
        numbers.update({metric: found.value, f"{metric}_low": found.low, f"{metric}_high": found.high})
        text = interval(found, digits=2 if metric == "test_accuracy" else None)
        if metric in told:
            by_seed = values.set_axis(runs["seed"]) if len(values) else values
            noise = (LENGTH * precision) ** 2 if metric in SQUARES else 0.0
            words[metric_in_words(metric, results)] = Number(text, found, more, by_seed, precision, noise)
    counts = {"runs": len(runs), "nonfinite": int(states.get("nonfinite", 0))}
    if (results.runs["state"] == "diverging").any():
        counts["diverging"] = int(states.get("diverging", 0))
    return {**numbers, **counts}, {**words, **counts}


def spare(rows: Sequence[tuple[Key, dict[str, Any]]], request: FigureOptions) -> tuple[str, ...]:
    """The columns of such rows that a reader can do without: how many runs, from which seeds, then metrics that nobody
    asked for, all but the first."""
    metrics = [c for c, cell in rows[0][1].items() if isinstance(cell, Number)] if rows else []
    return ("runs", "seeds", *([] if request.metrics else reversed(metrics[1:])))


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


def also(results: Results, columns: Sequence[str]) -> list[str]:
    """Those of the columns that are metrics of the runs."""
    return [c for c in columns if c in (*COLUMNS, *results.measures) and c in results.rows]


DIFFERENCE = " minus this"
"""What the column of differences is called, after the reference."""
NAMES = {**LETTERS, "algo": "method", "topology": "graph", "nodes": "n", "steps": "T"}


def chosen(table: Table, columns: Sequence[str], results: Results) -> Table:
    """With these columns printed alone, in this order; a column may be named as its label or as its metric, and any
    label of the runs that its data knows may be one."""
    if not columns:
        return table
    shown = table.shown.copy()
    known = {_plain(c): str(c) for c in shown.columns}
    labels = {_plain(c): str(c) for c in table.data.columns if c in (*results.problem, *results.options)}
    known |= {"difference": name for name in known.values() if DIFFERENCE in name}  # noqa: B035  there is but one
    aliases = {**NAMES, **{metric: metric_name(metric, results) for metric in results.measures}}
    names = []
    for word in columns:
        name = known.get(_plain(aliases.get(word, word)))
        if name is None and (name := labels.get(_plain(word))) is not None:
            shown[name] = [plain_cell(value) for value in table.data[name]]
        if name is None:
            more = [c for c in labels.values() if c not in NAMES and table.data[c].astype(str).nunique() > 1]
            metrics = also(results, COLUMNS) if MORE[0] in table.data else []  # its rows are of runs
            more += [metric for metric in metrics if _plain(metric) not in known]
            there = list(dict.fromkeys([*map(str, table.shown), *more]))
            raise NoData(f"it has no column '{word}'{perhaps(word, there)}; there are {', '.join(there)}")
        names.append(name)
    return replace(table, shown=shown, asked=tuple(names))


def _plain(name: object) -> str:
    return str(name).lower().replace("_", " ").replace("train loss", "training loss")


def plain_cell(value: Any) -> Any:
    """Numbers as a reader wants them; what is a text already stays."""
    if isinstance(value, float):
        return "—" if np.isnan(value) else f"{value:.4g}".replace("inf", "∞")
    return "—" if value is None else value


def is_empty(cell: Any) -> bool:
    """Whether it says nothing: what was not measured, or has no mean."""
    return cell is None or str(cell) in ("—", "") or (isinstance(cell, float) and np.isnan(cell))


def markdown(table: Table, title: str) -> str:
    shown = table.printed
    lines = [f"## {in_markdown(title)}", ""]
    lines += [_row(shown.columns), "|" + "---|" * len(shown.columns)]
    lines += [_row(plain_cell(cell) for cell in row) for row in shown.itertuples(index=False)]
    return "\n".join([*lines, "", *(f"{in_markdown(note[0].upper() + note[1:])}\n" for note in table.notes)])


def _row(cells: Iterable[Any]) -> str:
    return "| " + " | ".join(in_cell(str(cell)) for cell in cells) + " |"


def in_cell(text: str) -> str:
    """The same for a cell of a table."""
    return in_markdown(text).replace("|", "\\|")


def in_markdown(text: str) -> str:
    """One line of text in which no tag and no link is one."""
    return " ".join(visible(text).splitlines()).replace("<", "&lt;").replace("](", "]\\(").replace("]:", "]\\:")


def csv(data: pd.DataFrame) -> str:
    """All of a table as text, in which nothing is a formula to a spreadsheet."""
    plain = data.rename(columns=_no_formula)
    texts = [name for name in plain if plain[name].dtype.kind == "O"]
    plain = plain.assign(**{str(name): plain[name].map(_no_formula) for name in texts})
    return plain.to_csv(index=False, lineterminator="\n", float_format="%.10g")


FORMULA = re.compile(r"(^|[;\t\n\r])(?=[\s\"]*[=+\-@＝＋－＠]|^[\t\r\n])")
"""The place before a formula: in some countries a spreadsheet begins a new cell after a semicolon or a tab."""


def _no_formula(cell: Any) -> Any:
    """With an apostrophe before all that a spreadsheet would compute, which tells it that this is text."""
    if not isinstance(cell, str):
        return cell
    try:
        float(cell)
    except ValueError:
        return FORMULA.sub(r"\1'", visible(cell))
    return visible(cell)
