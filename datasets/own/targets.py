"""Preprocessing of targets: classes or numbers."""

from __future__ import annotations

import textwrap
from typing import Literal, NamedTuple

import numpy as np

from bench.base.errors import UserError
from datasets.own.content import EXACT, Column, first_row, refuse_large, some
from datasets.own.writing import Writing, refuse_numbers
from datasets.standardized import moments

Task = Literal["auto", "classification", "regression"]
FEW = 20
"""Largest number of different integers that are classes without being declared."""
MOST = 1000
"""Largest number of classes."""


class Targets(NamedTuple):
    """Labels below ``classes``, or numbers in multiples of ``unit``; and the decision as a line."""

    y: np.ndarray
    classes: int | None
    unit: float
    note: str


def targets(column: Column, train: np.ndarray, task: Task, standardize: bool, writing: Writing) -> Targets:
    """The targets for the task; numbers are standardized with the training rows."""
    values, name = column.values, column.name
    if column.missing.any():
        raise UserError(f"The target {name!r} has no value in row {first_row(column.missing)}.")
    if not column.numbers:
        if task != "classification":
            refuse_numbers(column, writing, "If they are classes, add dataset.task=classification.")
        if task == "regression":
            raise UserError(f"dataset.task=regression needs numbers, but {name!r} has words such as {values[0]!r}.")
        return _classes(name, values.astype(str), train, "words")
    refuse_large(f"Column {name!r}", values)
    if values.ndim == 2:
        if task == "classification":
            raise UserError(f"dataset.task=classification needs one number per row; {name!r} has {values.shape[1]}.")
        if (
            task == "auto"
            and values.shape[1] > 1
            and ((values == 0) | (values == 1)).all()
            and (values.sum(1) == 1).all()
        ):
            raise UserError(
                f"{name!r} has a single 1 and otherwise 0 in every row, as encoded classes have. For classes, save "
                "np.argmax(y, axis=1) instead of y. For numbers, add dataset.task=regression."
            )
        return _numbers(name, values, train, standardize, f"{values.shape[1]} per row")
    different = len(np.unique(values))
    whole = bool((values == np.round(values)).all())
    if task == "auto":
        task = "classification" if whole and different <= min(FEW, len(values) // 2) else "regression"
        why = f"{different} different {'integers' if whole else 'numbers'}"
    else:
        why = f"dataset.task={task}"
    if task == "classification":
        return _classes(name, values, train, why)
    return _numbers(name, values, train, standardize, why)


def _classes(name: str, values: np.ndarray, train: np.ndarray, why: str) -> Targets:
    if values.dtype.kind == "f" and np.abs(values).max() >= EXACT:
        raise UserError(
            f"{name!r} has {np.abs(values).max():.0f}, which is too large for a class: float64 does not distinguish "
            f"integers beyond 2^53. Number the classes 0, 1, …. For a csv or parquet file, 'dataset.words=[{name}]' "
            "reads them as words. For quantities, add dataset.task=regression."
        )
    known, y = np.unique(values, return_inverse=True)
    words = [f"{value:g}" if isinstance(value, float) else textwrap.shorten(str(value), 60) for value in known]
    if len(known) == 1:
        raise UserError(f"All rows have the same target {name!r}, {words[0]}, so nothing can be learned.")
    if len(known) > MOST:
        raise UserError(f"{name!r} has {len(known)} different values; at most {MOST} can be classes.")
    if 2 * len(known) > len(y):
        raise UserError(
            f"{name!r} has {len(known)} different values in {len(y)} rows, such as {words[0]}; classes need at least "
            "two rows each on average. For numbers, add dataset.task=regression. Otherwise set another dataset.column."
        )
    labels = some([f"{number} = {word}" for number, word in enumerate(words)])
    unseen = [word for number, word in enumerate(words) if number not in y[train]]
    rest = f"; classes that only test rows have: {some(unseen)}" if unseen else ""
    return Targets(y.astype(np.int64), len(known), 1.0, f"target: {name}, classes ({why}): {labels}{rest}")


def _numbers(name: str, values: np.ndarray, train: np.ndarray, standardize: bool, why: str) -> Targets:
    """Several numbers per row have separate means and one unit, so that their errors can be added."""
    if values.min() == values.max():
        raise UserError(f"All rows have the same target {name!r}, {values.flat[0]:g}, so nothing can be learned.")
    note = f"target: {name}, numbers ({why})"
    if not standardize:
        return Targets(values, None, 1.0, f"{note}, not standardized")
    apart = values - np.array([moments(part)[0] for part in values[train].reshape(len(train), -1).T]).squeeze()
    _, unit = moments(np.append(apart[train], -apart[train]))  # the deviation from 0
    return Targets(apart / unit, None, unit, f"{note}, minus the mean and divided by {unit:.6g}")
