"""Everything that reads a results folder, in one call."""

from __future__ import annotations

import io
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd

from analysis import load
from analysis.report.commands import sweep_commands
from analysis.report.page import page
from analysis.report.report_data import ReportData, facts, run_table, scope, settings
from analysis.results.errors import NoData
from analysis.results.read import read
from analysis.results.results import Results
from analysis.results.warnings import warnings
from analysis.study.figure_options import FigureOptions
from analysis.study.outcome import outcome
from analysis.tables import format as words
from analysis.tables import table_makers
from analysis.tables.latex import latex
from bench.store.regular import run_names
from bench.sweep.states import look_at_run, show_found
from bench.terminal.console import Console
from bench.terminal.table import in_order

TABLES = ("final", "configurations", "methods")


class Late(Exception):
    """It took too long."""


@contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """What waits for a FIFO, or reads without an end, is interrupted."""

    def ring(number: int, frame: object) -> None:
        raise Late

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def status_of(results: Path) -> str:
    """What bench/status.py prints."""
    sink = io.StringIO()
    found = {name: look_at_run(results / "runs" / name) for name in run_names(results)}
    show_found(Console(file=sink, width=140), results / "runs", found, in_order(found.values()))
    return sink.getvalue()


def tables_of(results: Results) -> str:
    """The tables, in the three ways that they are written."""
    out = []
    for name in TABLES:
        table = table_makers()[name].table(results, FigureOptions())
        typeset = latex(table, name)
        assert "\\input{" not in typeset, "a command is passed on to TeX"
        out += [words.markdown(table, name), typeset, words.csv(table.data)]
    return "\n".join(out)


def page_of(results: Path) -> str:
    """The page, without its figures, which take seconds."""
    found = read(results)
    told = [*facts(found), *settings(found)]
    report = ReportData(
        found, scope(found), told, warnings(found), scope(found), outcome(found, FigureOptions()), sweep_commands(found)
    )
    assert len(run_table(found)[0]) == len(found.runs)
    return page(report)


def read_by_all(results: Path) -> tuple[str, pd.DataFrame]:
    """All that is printed and written about a results folder, and the table of its evaluations."""
    table = load(results)
    try:
        told = [page_of(results), tables_of(read(results))]
    except NoData as error:
        told = [str(error)]
    return "\n".join([status_of(results), *told]), table


def same_but(table: pd.DataFrame, before: pd.DataFrame, run: str) -> bool:
    """Whether all other runs have the values that they had, whatever kind of column one run has made of theirs."""
    one, other = (
        some.loc[some["run_id"] != run, before.columns].astype(object).reset_index(drop=True)
        for some in (table, before)
    )
    return bool(((one == other) | (one.isna() & other.isna())).all(axis=None))
