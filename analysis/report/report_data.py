"""The content of a report, for the HTML page and for W&B."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pandas as pd

from analysis.drawing.files import page_svg
from analysis.drawing.panels import seeds_in_words
from analysis.figures import Drawing, drawings
from analysis.report.commands import sweep_commands
from analysis.results.errors import NoData, trouble
from analysis.results.labels import methods, metric_name, name_of
from analysis.results.processes import on_all_cores
from analysis.results.results import NETWORK_S, Results
from analysis.results.warnings import warnings
from analysis.results.wording import listed, many, ranges
from analysis.study.figure_options import FigureOptions
from analysis.study.outcome import outcome
from analysis.study.settings import NEUTRAL, in_title
from analysis.tables import Table, TableMaker, table_makers
from analysis.tables.digits import in_digits
from bench.store.record import EVENT_COLUMNS, STATES

TOLD = ("partition", "batch_size", "model", "validation")
"""Settings that every report states."""
COMMANDS = 6
"""The largest number of shown commands."""

Drawn = tuple[str, list[str], str, str]
"""A figure: its title, notes, SVG, and its runs in words."""


@dataclass
class ReportData:
    """The parts of a report, in order."""

    results: Results
    headline: str
    facts: list[tuple[str, str]]
    warnings: list[str]
    scope: str = ""
    outcome: list[str] = field(default_factory=list)  # further sentences after the headline
    commands: list[tuple[str, int]] = field(default_factory=list)  # with the number of runs of each
    figures: list[tuple[Drawing, str, list[str], str, str]] = field(default_factory=list)  # with ``Drawn``
    tables: list[tuple[TableMaker, Table]] = field(default_factory=list)  # with their numbers as text
    missing: list[tuple[str, str, str]] = field(default_factory=list)  # figures without runs: title, reason, command
    troubles: list[str] = field(default_factory=list)  # figures and tables that raised an error


def gather_report(results: Results, request: FigureOptions | None = None) -> ReportData:
    """Make all figures, tables and sentences that the results allow, on all cores."""
    request, cautions = request or FigureOptions(), warnings(results)
    figures, tables = list(drawings().values()), list(table_makers().values())
    make: list[Callable[[], Any]] = [partial(_sentences, results, request)]
    make += [partial(_figure, drawing, results, request) for drawing in figures]
    make += [partial(_table, recipe, results, request) for recipe in tables]
    sentences, *parts = on_all_cores(make)
    compared = sentences if isinstance(sentences, list) else []
    headline, *more = [*compared, scope(results)]
    about = [*counts(results), *settings(results), *origin(results)]
    report = ReportData(results, headline, about, cautions, scope(results), more[:-1], sweep_commands(results))
    report.troubles += [sentences] if isinstance(sentences, str) else []
    for drawing, part in zip(figures, parts[: len(figures)], strict=True):
        if isinstance(part, NoData):
            report.missing.append((drawing.title, str(part), drawing.command))
        elif isinstance(part, str):
            report.troubles.append(part)
        else:
            report.figures.append((drawing, *part))
    for recipe, part in zip(tables, parts[len(figures) :], strict=True):
        if isinstance(part, str):
            report.troubles.append(part)
        elif part is not None:
            report.tables.append((recipe, part))
    report.warnings += report.troubles
    return report


def _sentences(results: Results, request: FigureOptions) -> list[str] | str:
    """Return the findings, or why there are none: figures and tables may still be right."""
    try:
        return outcome(results, request)
    except ValueError as error:
        return f"methods not compared: {trouble(error, outcome)}"


def _figure(drawing: Drawing, results: Results, request: FigureOptions) -> Drawn | NoData | str:
    """Return a figure, or why it is not drawn: no runs, or an error of a plug-in, which may raise anything."""
    try:
        picture = drawing.picture(results, request)
        svg = page_svg(picture.figure, drawing.name)
    except NoData as error:
        return error
    except Exception as error:
        return f"{drawing.name} not drawn: {trouble(error, drawing.draw)}"
    used = results.runs[results.runs["run_id"].isin(picture.runs)]
    return picture.title or drawing.title, picture.notes, svg, seeds_in_words(used)


def _table(recipe: TableMaker, results: Results, request: FigureOptions) -> Table | str | None:
    """Return a table with its numbers as text; None without runs, or a sentence on an error."""
    try:
        return in_digits(recipe.table(results, request))
    except NoData:
        return None
    except Exception as error:  # as above
        return f"{recipe.name} not made: {trouble(error, recipe.make)}"


def scope(results: Results) -> str:
    """4 runs: D-SGD and D-SGT on synthetic, ring and complete"""
    runs = results.runs
    if runs.empty:
        return "No runs"
    names = list(methods(runs["algo"].unique(), results).values())
    datasets = [name_of(name) for name in runs["dataset"].unique()]
    graphs = [str(name) for name in runs["topology"].unique()]
    return f"{many(len(runs), 'run')}: {listed(names)} on {listed(datasets)}, {listed(graphs)}"


def facts(results: Results) -> list[tuple[str, str]]:
    """Return the numbers of runs, and their machines, versions and data."""
    return [*counts(results), *origin(results)]


def counts(results: Results) -> list[tuple[str, str]]:
    """Return the number of runs by state, and their seeds, nodes and steps."""
    runs = results.runs
    if runs.empty:
        return []
    states = Counter(runs["state"])
    return [
        ("Runs", ", ".join(f"{states[state]} {state}" for state in STATES if states[state])),
        ("Seeds", ranges(runs["seed"].unique(), least=3)),
        *((name.capitalize(), listed(map(str, sorted(runs[name].unique())))) for name in ("nodes", "steps")),
    ]


def settings(results: Results) -> list[tuple[str, str]]:
    """Return partition, batch size, model and validation, and other settings that differ from their defaults."""
    runs, out = results.runs, []
    for name in (*TOLD, *(c for c in NEUTRAL if c not in TOLD and "." not in c)):
        if name in runs and (name in TOLD or (runs[name] != NEUTRAL[name]).any()):
            options = [c for c in runs if c.startswith(f"{name}.")]
            found = runs[[name, *options]].drop_duplicates().sort_values([name, *options], key=_order)
            values = [_setting(name, row) for row in found.to_dict("records")]
            out.append((name.replace("_", " ").capitalize(), listed(values)))
    return out


def _setting(name: str, row: dict[str, Any]) -> str:
    """dirichlet (α 0.5, equal)"""
    if name == "validation":
        return f"{100 * row[name]:g} % of the training samples" if row[name] else "none"
    options = [c for c in row if c != name and not pd.isna(row[c]) and row[c] != NEUTRAL.get(c)]
    values = ", ".join(in_title(c, row[c]).removesuffix(" True") for c in options)
    return f"{in_title('', row[name]).strip()}{f' ({values})' if values else ''}"


def _order(column: pd.Series) -> pd.Series:
    """Return sort keys: numbers, unless a value is text."""
    numbers = pd.to_numeric(column, errors="coerce")
    return column.astype(str) if (numbers.isna() & column.notna()).any() else numbers


def origin(results: Results) -> list[tuple[str, str]]:
    """Return the machines, versions and data of the runs."""
    out, data = list[tuple[str, str]](), set()
    facts = [results.facts.get(run, {}) for run in results.runs.get("run_id", [])]
    for name, describe, most in (("Made by", _environment, 6), ("Versions", _versions, 4)):
        found = Counter(map(describe, facts)).most_common(most)
        out += [(name, f"{words} ({many(count, 'run')})") for words, count in found if words]
    for fact, dataset in zip(facts, results.runs.get("dataset", []), strict=True):
        if digest := (fact.get("data") or {}).get("sha256"):
            data.add(f"{name_of(dataset)}, sha256 {digest[:16]}…")
    return [*out, *(("Data", words) for words in sorted(data))]


def _environment(fact: dict[str, Any]) -> str:
    if not fact:
        return ""
    host = fact.get("host") or {}
    how = f"engine {fact.get('engine')}, {host.get('gpu') or fact.get('device')}"
    if fact.get("engine") == "mpi":
        how += f", {many(fact.get('ranks', 1), 'rank')}"
    return f"{how}, {host.get('machine', 'unknown machine')} with {many(host.get('cores') or 0, 'core')}"


def _versions(fact: dict[str, Any]) -> str:
    return ", ".join(f"{name} {version}" for name, version in (fact.get("versions") or {}).items())


def run_table(results: Results) -> tuple[pd.DataFrame, list[str]]:
    """Return a row per run with its method, varying settings and last evaluation; and the columns to filter by."""
    runs = results.runs
    last = results.rows.drop_duplicates("run_id", keep="last") if len(results.rows) else pd.DataFrame({"run_id": []})
    table = runs.merge(last, on="run_id", how="left")
    front = list(dict.fromkeys(["algo", "eta", "dataset", "topology", *results.options, "seed"]))
    varied = [c for c in dict.fromkeys([*front, *results.problem]) if c in runs and _varies(results, c)]
    metrics = [
        "test_accuracy",
        "test_loss",
        "train_loss",
        "node_loss",
        "grad_norm",
        "consensus",
        *(name for name in results.measures if name not in EVENT_COLUMNS),
        "wall_s",
        NETWORK_S,
    ]
    found = [c for c in metrics if c in table and table[c].notna().any()]
    labels = [c for c in front if c in varied or (c in ("algo", "eta") and c in runs)]
    rest = [c for c in varied if c not in front] + [c for c in ("step",) if c in table]
    table = table.sort_values([*(c for c in [*labels, *rest] if c != "seed"), "seed", "run_id"], key=_order)
    table = table[["run_id", "state", *labels, *found, *rest]].rename(
        columns={NETWORK_S: metric_name(NETWORK_S, results)}
    )
    return table, ["state"] * _varies(results, "state") + varied


def _varies(results: Results, name: str) -> bool:
    """Return whether a setting varies. An option varies if it does among the runs of one group choice."""
    runs, (group, _, option) = results.runs, name.partition(".")
    if option and group in runs:
        return bool((runs[name].map(str).groupby(runs[group]).nunique() > 1).any())
    return (runs[name].dropna() if name in results.options else runs[name]).map(str).nunique() > 1
