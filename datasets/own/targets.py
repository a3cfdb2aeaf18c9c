"""What is to be predicted: classes or numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from bench.base.errors import UserError
from datasets.own.content import Column, first_row, refuse_large, some
from datasets.own.writing import Writing, refuse_numbers
from datasets.standardized import moments

Task = Literal["auto", "classification", "regression"]
FEW = 20
"""Whole numbers of at most so many different values are taken for classes;"""
MOST = 1000
"""and so many classes there may be."""
EXACT = 2**53
"""From here on float64 cannot tell a whole number from its neighbors."""


@dataclass(frozen=True)
class Targets:
    """Labels below ``classes``, or numbers in multiples of ``unit``."""

    y: np.ndarray
    classes: int | None
    unit: float
    note: str


def targets(column: Column, train: np.ndarray, task: Task, standardize: bool, writing: Writing) -> Targets:
    """The column as the task needs it, standardized with its training rows if it is numbers."""
    values, name = column.values, column.name
    if not column.numbers:
        _refuse(name, values == None)  # noqa: E711, each element is asked
        if task != "classification":
            refuse_numbers(column, writing, "If they are classes, add dataset.task=classification.")
        if task == "regression":
            raise UserError(f"dataset.task=regression needs numbers, and {name!r} has words, as {values[0]!r}.")
        return _classes(name, values.astype(str), "since they are words")
    _refuse(name, np.isnan(values))
    refuse_large(f"Column {name!r}", values)
    if values.ndim == 2:
        if task == "classification":
            raise UserError(f"{name!r} has {values.shape[1]} numbers a row; dataset.task=classification needs one.")
        return _numbers(name, values, train, standardize, f"{values.shape[1]} numbers a row")
    if task == "classification":
        return _classes(name, values, "as asked for")
    different = len(np.unique(values))
    whole, few = bool((values == np.round(values)).all()), different <= min(FEW, len(values) // 2)
    if task == "auto" and whole and few:
        return _classes(name, values, f"since they are {different} different whole numbers")
    if task == "regression":
        why = "as asked for"
    else:
        why = f"since they are {different} different {'whole ' if whole else ''}numbers"
    return _numbers(name, values, train, standardize, why)


def _classes(name: str, values: np.ndarray, why: str) -> Targets:
    if values.dtype.kind == "f" and np.abs(values).max() >= EXACT:
        raise UserError(
            f"{name!r} has {np.abs(values).max():.0f}, too large for a class: beyond 2^53 several whole numbers become "
            f"one. Number the classes 0, 1, …; in a csv or parquet file 'dataset.words=[{name}]' reads them as words. "
            "Add dataset.task=regression if they are quantities."
        )
    known, y = np.unique(values, return_inverse=True)
    if len(known) == 1:
        raise UserError(f"All rows have the same {name!r}, {_word(known[0])}: there is nothing to learn.")
    if len(known) > MOST:
        raise UserError(f"{name!r} has {len(known)} different values, which is too many for classes (at most {MOST}).")
    if 2 * len(known) > len(y):
        raise UserError(
            f"{name!r} has {len(known)} different values in {len(y)} rows, as {_word(known[0])}: too many for classes, "
            "which need two rows each or more. Add dataset.task=regression if it is a number; else name another column."
        )
    told = some([f"{number} = {_word(value)}" for number, value in enumerate(known)])
    return Targets(y.astype(np.int64), len(known), 1.0, f"predicted: {name}, classes {why}: {told}")


def _numbers(name: str, values: np.ndarray, train: np.ndarray, standardize: bool, why: str) -> Targets:
    """Several numbers of a row have means of their own and one unit, so that their errors can be added."""
    if values.min() == values.max():
        raise UserError(f"All rows have the same {name!r}, {values.flat[0]:g}: there is nothing to learn.")
    if not standardize:
        return Targets(values, None, 1.0, f"predicted: {name}, numbers {why}, as they are")
    apart = values - np.array([moments(part)[0] for part in values[train].reshape(len(train), -1).T]).squeeze()
    _, unit = moments(np.append(apart[train], -apart[train]))  # around 0
    note = f"predicted: {name}, numbers {why}, minus the mean and divided by {unit:.6g}"
    return Targets(apart / unit, None, unit, note)


def _refuse(name: str, wrong: np.ndarray) -> None:
    if wrong.any():
        raise UserError(f"{name!r} is to be predicted, and has no value in row {first_row(wrong)}.")


def _word(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
