"""Numbers in tables, and tables as Markdown and CSV."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from analysis.drawing.symbols import LETTERS
from analysis.results.columns import with_columns
from analysis.results.errors import NoData, perhaps
from analysis.results.labels import direction, metric_in_words, metric_name
from analysis.results.results import Results
from analysis.study.clock_notes import share_time
from analysis.study.figure_options import USUAL, FigureOptions
from analysis.study.settings import Apart, Key
from analysis.study.statistics import Interval, mean
from analysis.tables import Table
from bench.store.record import COLUMNS, EVENT_COLUMNS
from bench.terminal.visible import visible

SUMMED = ("test_accuracy", "test_loss", "stationarity", "consensus")
MORE = ("train_loss",)
"""Metrics that are always in the CSV, but in the table only on request."""
SETTING = ("dataset", "graph", "n", "T", "other settings")


def with_settings(rows: Sequence[tuple[Key, dict[str, Any]]]) -> pd.DataFrame:
    """Return a table of the rows, preceded by the labels that distinguish their settings."""
    among, shown = Apart(key for key, _ in rows), []
    for key, cells in rows:
        setting = {"dataset": key["dataset"], "graph": key["topology"], "n": key["nodes"], "T": key["steps"]}
        shown.append({**setting, "other settings": among.in_labels(key) or "—", **cells})
    return pd.DataFrame(shown, dtype=object)


class Number(str):
    """The text of a number, with the data to round, compare or print it in another way."""

    found: Interval
    more_is_better: bool | None  # None if a plug-in does not declare it
    values: pd.Series  # by seed
    precision: float  # relative precision of its data type
    noise: float  # smaller numbers are rounding errors

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
"""Approximate norm of the vectors whose squared rounding errors bound these metrics."""


def _precision(runs: pd.DataFrame) -> float:
    """Return the relative precision of the coarsest data type of these runs."""
    types = {name for name in runs["dtype"].unique() if not pd.isna(name)} if "dtype" in runs else set()
    return max((float(np.finfo(name).eps) for name in types), default=0.0)


def summarize(
    runs: pd.DataFrame, results: Results, request: FigureOptions = USUAL, mixed: bool = False
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return means and intervals of the final metrics, as numbers and as text.

    There is no mean if a run is nonfinite, or if runs differ in a setting: if they are ``mixed``, or several have one
    seed. Losses and errors have none if a run is diverging either.
    """
    alone = not mixed and not runs["seed"].duplicated().any()
    states = runs["state"].value_counts()
    numbers: dict[str, Any] = {}
    words: dict[str, Any] = {}
    precision, seeds = _precision(runs), pd.Index(runs["seed"])
    usual = (*SUMMED, *(name for name in results.measures if name not in EVENT_COLUMNS))
    told = [*(request.metrics or usual), *also(results, request.columns)]
    for metric in dict.fromkeys([*told, *SUMMED, *MORE, *results.measures]):
        more = direction(metric, results)
        values = runs[metric].to_numpy(float, na_value=np.nan) if metric in runs else np.empty(0)
        known = (
            alone and not np.isnan(values).all() and "nonfinite" not in states and (more or "diverging" not in states)
        )
        found = mean(values) if known else Interval(np.nan, np.nan, np.nan, len(runs))
        if share_time(runs, metric):
            found, more = replace(found, low=np.nan, high=np.nan), None
        numbers.update({metric: found.value, f"{metric}_low": found.low, f"{metric}_high": found.high})
        text = interval(found, digits=2 if metric == "test_accuracy" else None)
        if metric in told:
            by_seed = pd.Series(values, seeds) if len(values) else pd.Series(dtype=float)
            noise = (LENGTH * precision) ** 2 if metric in SQUARES else 0.0
            words[metric_in_words(metric, results)] = Number(text, found, more, by_seed, precision, noise)
    counts = {"runs": len(runs), "nonfinite": int(states.get("nonfinite", 0))}
    if results.has_diverging:
        counts["diverging"] = int(states.get("diverging", 0))
    return {**numbers, **counts}, {**words, **counts}


def spare(rows: Sequence[tuple[Key, dict[str, Any]]], request: FigureOptions) -> tuple[str, ...]:
    """Return the columns that a narrow table may drop: runs, seeds, then metrics that were not requested."""
    metrics = [c for c, cell in rows[0][1].items() if isinstance(cell, Number)] if rows else []
    return ("runs", "seeds", *([] if request.metrics else reversed(metrics[1:])))


def interval(found: Interval | None, digits: int | None = None, signed: bool = False) -> str:
    """85.12 ± 0.03, or 85.12 without an interval; ``signed`` as +0.10 [+0.05, +0.15]"""
    if found is None or np.isnan(found.value):
        return "—"
    if signed:
        places = "+.2f" if max(abs(found.value), abs(found.low), abs(found.high)) >= 0.05 else "+.2g"
        span = f" [{found.low:{places}}, {found.high:{places}}]" if np.isfinite(found.low) else ""
        return f"{found.value:{places}}{span}" if abs(found.value) < 1e4 else f"{found.value:+.3g}"
    form, half_form = (".4g", ".2g") if digits is None else (f".{digits}f",) * 2
    half = f" ± {found.high - found.value:{half_form}}" if np.isfinite(found.high) else ""
    return f"{found.value:{form}}{half}"


def also(results: Results, columns: Sequence[str]) -> list[str]:
    """Return the columns that are metrics of the runs."""
    return [c for c in columns if c in (*COLUMNS, *results.measures) and c in results.rows]


DIFFERENCE = " minus this"
"""The heading of the column of differences, after the reference."""
NAMES = {**LETTERS, "algo": "method", "topology": "graph", "nodes": "n", "steps": "T"}


def chosen(table: Table, columns: Sequence[str], results: Results) -> Table:
    """Return the table with only these columns printed: headings, metrics or labels of the runs."""
    if not columns:
        return table
    shown = table.shown.copy()
    known = {_plain(c): str(c) for c in shown.columns}
    labels = {_plain(c): str(c) for c in table.data.columns if c in (*results.problem, *results.options)}
    known |= {"difference": name for name in known.values() if DIFFERENCE in name}  # noqa: B035  there is only one
    aliases = {**NAMES, **{metric: metric_name(metric, results) for metric in results.measures}}
    names = []
    for word in columns:
        name = known.get(_plain(aliases.get(word, word)))
        if name is None and (name := labels.get(_plain(word))) is not None:
            shown[name] = [plain_cell(value) for value in table.data[name]]
        if name is None:
            more = [c for c in labels.values() if c not in NAMES and table.data[c].map(str).nunique() > 1]
            metrics = also(results, COLUMNS) if MORE[0] in table.data else []  # other tables have no metrics
            more += [metric for metric in metrics if _plain(metric) not in known]
            there = list(dict.fromkeys([*map(str, table.shown), *more]))
            raise NoData(f"it has no column '{word}'{perhaps(word, there)}; there are {', '.join(there)}")
        names.append(name)
    return replace(table, shown=shown, asked=tuple(dict.fromkeys(names)))


def _plain(name: object) -> str:
    return str(name).lower().replace("_", " ").replace("train loss", "training loss")


def plain_cell(value: Any) -> Any:
    """Return a cell for readers: floats rounded, missing values as a dash."""
    if isinstance(value, float):
        return "—" if np.isnan(value) else f"{value:.4g}".replace("inf", "∞")
    return "—" if value is None else value


def is_empty(cell: Any) -> bool:
    """Return whether a cell has no value."""
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
    """Escape a text for a cell of a Markdown table."""
    return in_markdown(text).replace("|", "\\|")


def in_markdown(text: str) -> str:
    """Escape a text for one line of Markdown, without tags and links."""
    return " ".join(visible(text).splitlines()).replace("<", "&lt;").replace("](", "]\\(").replace("]:", "]\\:")


def csv(data: pd.DataFrame) -> str:
    """Return a table as CSV, in which a spreadsheet finds no formulas."""
    names = list[Any]()
    for name in map(_no_formula, data):
        while name in names:  # two names that are escaped to the same text
            name = f"'{name}"
        names.append(name)
    plain = data.set_axis(names, axis=1)
    texts = [name for name in plain if plain[name].dtype.kind == "O"]
    plain = with_columns(plain, {name: plain[name].map(_no_formula) for name in texts})
    return plain.to_csv(index=False, lineterminator="\n", float_format="%.10g")


FORMULA = re.compile(r"(^|[;\t\n\r])(?=[\s\"]*[=+\-@＝＋－＠]|^[\t\r\n])")
"""The position before a formula. Some spreadsheets start a new cell after a semicolon or tab."""


def _no_formula(cell: Any) -> Any:
    """Put an apostrophe before formulas, so that a spreadsheet reads them as text."""
    return _text(cell) if isinstance(cell, str) else cell


@lru_cache(10_000)  # labels are the same in many rows
def _text(cell: str) -> str:
    try:
        float(cell)
    except ValueError:
        return FORMULA.sub(r"\1'", visible(cell))
    return visible(cell)
