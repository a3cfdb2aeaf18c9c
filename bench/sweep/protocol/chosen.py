"""The settings that were chosen on the tuning seeds, from chosen.csv, and the longer grids that they ask for."""

from __future__ import annotations

import csv
import io
import math
import reprlib
import shlex
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from bench.base.board import Board, Entrant
from bench.base.errors import UserError
from bench.base.small_file import content_up_to
from bench.base.unique_yaml import load_unique
from bench.store.regular import content_of

COLUMNS = ("ruleset", "workload", "method")
"""Columns that are no options."""
TUNED = "tuned"
DEV = "dev"
RULESETS = (TUNED, DEV, "native")
LARGEST = 300_000
"""The largest size of chosen.csv in bytes."""
ALL = "all"
"""In the column workload: every workload."""


class Chosen(NamedTuple):
    """One row: the setting of an entrant on a workload."""

    ruleset: str
    workload: str
    entrant: str
    values: dict[str, Any]
    tied: bool = False
    """Whether other settings have the same score. Such a value says nothing about the grid."""


def read_chosen(file: Path, inside: bool = False) -> list[Chosen]:
    """Return the rows of chosen.csv; UserError if it is missing or is no such table.

    ``inside``: the file is in a results folder or a submission, in which links are not followed.
    """
    if not file.is_file():
        raise UserError(f"There is no {file}. Choose the settings first: python analysis/make_board.py choose.")
    try:
        text = (content_of(file, LARGEST) if inside else content_up_to(file, LARGEST)).decode()
        head, *lines = [row for row in csv.reader(io.StringIO(text, newline="")) if row] or [[]]
    except (UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{file} is no table: {error}. Write it with python analysis/make_board.py choose.") from error
    out = []
    for line in lines:
        if len(line) != len(head):
            raise UserError(f"{file} has {len(head)} columns and a row of {len(line)} values: {reprlib.repr(line)}.")
        row = dict(zip(head, line, strict=True))
        if lacking := [name for name in COLUMNS if not row.get(name)]:
            raise UserError(f"{file} has a row without '{lacking[0]}': {reprlib.repr(line)}.")
        if row["ruleset"] not in RULESETS:
            raise UserError(f"{file} has the ruleset {reprlib.repr(row['ruleset'])}. Use one of {', '.join(RULESETS)}.")
        options = {name: _value(file, name, text) for name, text in row.items() if name.startswith("algo.") and text}
        tied = (row.get("tied") or "1") not in ("1", "1.0")
        out.append(Chosen(row["ruleset"], row["workload"], row["method"], options, tied))
    keys = [row[:3] for row in out]
    if twice := [key for key, count in Counter(keys).items() if count > 1]:
        raise UserError(f"{file} has several rows of {' '.join(twice[0])}. Keep one of them.")
    return out


def chosen_of_submission(file: Path, board: Board) -> list[Chosen]:
    """Return the rows of the chosen.csv of a submission, which is the only entrant; UserError if a row is missing."""
    (name,) = board.entrants
    again = f"python analysis/make_board.py choose --submission {shlex.quote(name)} --results RESULTS"
    if not file.is_file():
        raise UserError(f"There is no {file}. Run the phases dev and tune, and type {again}.")
    rows = read_chosen(file, inside=True)
    if others := [row.entrant for row in rows if row.entrant != name]:
        raise UserError(f"{file} has a row of '{others[0]}', but may have rows of '{name}' only. Type {again}.")
    due = [(TUNED, one.name) for one in board.workloads.values()]
    if lacking := [key for key in (*due, (DEV, ALL)) if key not in [row[:2] for row in rows]]:
        what = " ".join(lacking[0])
        raise UserError(f"{file} has no row of '{what}'. Run the phases dev and tune, and type {again}.")
    return rows


def _value(file: Path, name: str, text: str) -> Any:
    """Return the value of an option; UserError if it is no number or word."""
    try:
        value = load_unique(text)
        if isinstance(value, str):
            with suppress(ValueError):
                value = float(value)  # YAML reads 1e-05 as a text
    except yaml.YAMLError:
        value = None
    odd = isinstance(value, str) and "${" in value  # an interpolation, which Hydra would evaluate
    if odd or not isinstance(value, str | int | float) or (isinstance(value, float) and not math.isfinite(value)):
        raise UserError(f"{file} has {name} = {reprlib.repr(text)}, which is no value of an option.")
    return value


def values_to_try(board: Board, entrant: Entrant, chosen: Iterable[Chosen]) -> list[float]:
    """Return the stepsizes to try, with more values on a side of the grid at whose end a chosen one lies.

    A value that shares its score with others adds none.
    """
    grid = entrant.grid
    key = f"algo.{entrant.stepsize}"
    mine = [row for row in chosen if row.entrant == entrant.name and not row.tied]
    best = [row.values[key] for row in mine if key in row.values]
    if wrong := [value for value in best if isinstance(value, str)]:
        raise UserError(f"The chosen {key} of '{entrant.name}' must be a number, got '{wrong[0]}'.")
    return sorted({*_longer(board, grid, best, up=False), *grid, *_longer(board, grid, best, up=True)})


def _longer(board: Board, grid: tuple[float, ...], best: list[float], up: bool) -> list[float]:
    """Return the further values on one side: each extension is made if a best value is at the end so far."""
    more: list[float] = []
    end = max(grid) if up else min(grid)
    for _ in range(board.extensions):
        if not any(value >= end if up else value <= end for value in best):
            break
        for _ in range(board.extension):
            end = next_value(end, up)
            more.append(end)
    return more


def next_value(value: float, up: bool) -> float:
    """Return the next value of the sequence …, 0.3, 1, 3, 10, …, whose ratio is about √10."""
    digit, power = f"{value:e}".split("e")
    one = float(digit) < 2
    if up:
        return float(f"3e{power}") if one else float(f"1e{int(power) + 1}")
    return float(f"3e{int(power) - 1}") if one else float(f"1e{power}")
