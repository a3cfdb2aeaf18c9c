"""What is predicted from: numbers, standardized; words, a column for each."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from bench.base.errors import UserError
from datasets.own.content import Column, first_row, refuse_large, some
from datasets.own.writing import Writing, refuse_numbers
from datasets.standardized import moments

Missing = Literal["refuse", "mean"]
VALUES = 100
"""How many different words a column may have."""


SCALED, AS_IS, HOT, FILLED, CONSTANT, UNKNOWN = NOTES = (
    "mean 0 and deviation 1 in the training rows",
    "numbers as they are",
    "a column for each word of the training rows",
    "missing values filled in",
    "constant in the training rows",
    "words of testing rows alone, which have no column",
)


class Inputs:
    """Columns of float32 from those of a file, and what was done to them."""

    def __init__(self, train: np.ndarray, standardize: bool, missing: Missing, writing: Writing) -> None:
        self._train, self._standardize, self._missing, self._writing = train, standardize, missing, writing
        self._blocks: list[np.ndarray] = []
        self._said: dict[str, list[str]] = {line: [] for line in NOTES}

    def add(self, column: Column) -> None:
        made = self._numbers(column.name, column.values) if column.numbers else self._words(column)
        self._blocks.append(made.astype(np.float32))

    def _numbers(self, name: str, values: np.ndarray) -> np.ndarray:
        unknown = np.isnan(values)
        refuse_large(f"Column {name!r}", values)
        self._may_miss(name, unknown, "the mean")
        known = values[self._train][~unknown[self._train]]
        if len(known) == 0:
            raise UserError(f"Column {name!r} has no values in the rows for training. {leave_out(name)}")
        mean, sd = moments(known)
        usual = SCALED if self._standardize else AS_IS
        self._said[CONSTANT if known.min() == known.max() else usual].append(name)
        scaled = np.where(unknown, 0.0, (values - mean) / sd) if self._standardize else np.where(unknown, mean, values)
        return scaled[:, None]

    def _words(self, column: Column) -> np.ndarray:
        name, values = column.name, column.values
        remedy = (
            f"If they are categories, add 'dataset.words=[{name}]'. To skip the column, add 'dataset.drop=[{name}]'."
        )
        refuse_numbers(column, self._writing, remedy)
        unknown = np.array([word is None for word in values])
        self._may_miss(name, unknown, "no word at all")
        words, trained = set(values[~unknown]), sorted(set(values[self._train]) - {None})
        if len(trained) > VALUES:
            raise UserError(
                f"Column {name!r} has {len(trained)} different words; at most {VALUES} can become columns. "
                f"{leave_out(name)}"
            )
        if len(words) == (~unknown).sum() > 2:
            raise UserError(
                f"Column {name!r} has another word in each of its {len(words)} rows: nothing can be learned from it. "
                f"{leave_out(name)}"
            )
        self._said[CONSTANT] += [name] * (len(trained) < 2)
        self._said[HOT].append(f"{name} ({len(trained)})")
        if strangers := sorted(words - set(trained)):
            self._said[UNKNOWN].append(f"{name} ({some(strangers, 4)})")
        return values[:, None] == np.array(trained, dtype=object)

    def _may_miss(self, name: str, unknown: np.ndarray, instead: str) -> None:
        if not unknown.any():
            return
        if self._missing == "refuse":
            raise UserError(
                f"Column {name!r} has no value in row {first_row(unknown)} ({int(unknown.sum())} of {len(unknown)} "
                f"rows): fill them in, or use dataset.missing=mean."
            )
        self._said[FILLED].append(f"{name} ({int(unknown.sum())} rows, {instead})")

    def array(self) -> np.ndarray:
        """All columns beside each other."""
        if len(self._said[CONSTANT]) == len(self._blocks):
            raise UserError("Every column is constant in the rows for training: there is nothing to predict from.")
        return np.concatenate(self._blocks, axis=1)

    def notes(self) -> list[str]:
        return [f"{line}: {some(names)}" for line, names in self._said.items() if names]


def leave_out(name: str) -> str:
    return f"Leave it out: 'dataset.drop=[{name}]'."


def of_images(x: np.ndarray, train: np.ndarray, standardize: bool) -> tuple[float, float, str]:
    """One mean and deviation for arrays of several dimensions, whose entries are of one kind."""
    shape = "×".join(map(str, x.shape[1:]))
    if x.dtype.kind == "f":
        if np.isnan(x).any():
            raise UserError(f"The array of inputs has no value in row {first_row(np.isnan(x))}.")
        refuse_large("The array of inputs", x)
    if not standardize:
        return 0.0, 1.0, f"inputs of {shape} numbers as they are"
    mean, sd = _of_all(x, train)
    if sd == 0:
        raise UserError("Every input is the same in the rows for training: there is nothing to predict from.")
    return mean, sd, f"inputs of {shape} numbers, minus {mean:.6g} and divided by {sd:.6g}, as the training rows are"


def _of_all(x: np.ndarray, rows: np.ndarray) -> tuple[float, float]:
    """Mean and deviation of all entries of these rows, with sums that are the same on every machine."""
    entries = len(rows) * x[0].size
    if x.dtype.itemsize <= 2 and x.dtype.kind in "biu":  # pixels: whole numbers are added without any rounding
        total = sum(int(x[row].sum(dtype=np.int64)) for row in rows)
        squares = sum(int((x[row].astype(np.int64) ** 2).sum()) for row in rows)
        return total / entries, math.sqrt(entries * squares - total**2) / entries
    mean = math.fsum(math.fsum(x[row].ravel().tolist()) for row in rows) / entries
    return mean, math.sqrt(math.fsum(math.fsum(((x[row] - mean) ** 2).ravel().tolist()) for row in rows) / entries)
