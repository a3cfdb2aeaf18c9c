"""What is predicted from: numbers, standardised; words, a column for each."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from bench.base.errors import UserError
from datasets.own.content import Column, first_row, refuse_large, some
from datasets.own.writing import Writing, refuse_numbers
from datasets.standardised import moments

Missing = Literal["refuse", "mean"]
VALUES = 100
"""How many different words a column may have."""


class Inputs:
    """Columns of float32 from those of a file, and what was done to them."""

    def __init__(self, train: np.ndarray, standardise: bool, missing: Missing, writing: Writing) -> None:
        self._train, self._standardise, self._missing, self._writing = train, standardise, missing, writing
        self._blocks: list[np.ndarray] = []
        self._said: dict[str, list[str]] = {
            name: [] for name in ("standardised", "as they are", "a column per word", "filled", "constant", "unknown")
        }

    def add(self, column: Column) -> None:
        if column.numbers:
            self._numbers(column.name, column.values)
        else:
            self._words(column)

    def _numbers(self, name: str, values: np.ndarray) -> None:
        unknown = np.isnan(values)
        refuse_large(name, values)
        self._may_miss(name, unknown, "the mean")
        known = values[self._train][~unknown[self._train]]
        if len(known) == 0:
            raise UserError(f"Column {name!r} has no values in the rows for training. {leave_out(name)}")
        mean, sd = moments(known)
        same = known.min() == known.max()
        if same:
            self._said["constant"].append(name)
        if self._standardise:
            self._said["standardised"] += [] if same else [name]
            made = np.where(unknown, 0.0, (values - mean) / sd)
        else:
            self._said["as they are"] += [] if same else [name]
            made = np.where(unknown, mean, values)
        self._blocks.append(made.astype(np.float32)[:, None])

    def _words(self, column: Column) -> None:
        refuse_numbers(column, self._writing)
        values = column.values
        unknown = np.array([word is None for word in values.tolist()])
        words = set(values[~unknown].tolist())
        self._may_miss(column.name, unknown, "no word at all")
        different = sorted({word for word in values[self._train].tolist() if word is not None})
        if len(different) > VALUES:
            raise UserError(
                f"Column {column.name!r} has {len(different)} different words; at most {VALUES} can become columns. "
                f"{leave_out(column.name)}"
            )
        if len(words) == (~unknown).sum() > 2:
            raise UserError(
                f"Column {column.name!r} has another word in each of its {len(words)} rows: nothing can be learned "
                f"from it. {leave_out(column.name)}"
            )
        if len(different) < 2:
            self._said["constant"].append(column.name)
        place = {word: number for number, word in enumerate(different)}
        hot = np.array([place.get(word, -1) for word in values.tolist()])
        if strangers := sorted(words - set(different)):
            self._said["unknown"].append(f"{column.name} ({some(strangers, 4)})")
        self._said["a column per word"].append(f"{column.name} ({len(different)})")
        self._blocks.append((hot[:, None] == np.arange(len(different))).astype(np.float32))

    def _may_miss(self, name: str, unknown: np.ndarray, instead: str) -> None:
        if not unknown.any():
            return
        if self._missing == "refuse":
            raise UserError(
                f"Column {name!r} has no value in row {first_row(unknown)} ({int(unknown.sum())} of {len(unknown)} "
                f"rows): fill them in, or use dataset.missing=mean."
            )
        self._said["filled"].append(f"{name} ({int(unknown.sum())} rows, {instead})")

    def array(self) -> np.ndarray:
        """All columns beside each other."""
        if len(self._said["constant"]) == len(self._blocks):
            raise UserError("Every column is constant in the rows for training: there is nothing to predict from.")
        return np.concatenate(self._blocks, axis=1)

    def notes(self) -> list[str]:
        lines = {
            "standardised": "mean 0 and deviation 1 in the training rows",
            "as they are": "numbers as they are",
            "a column per word": "a column for each word of the training rows",
            "filled": "missing values filled in",
            "constant": "constant in the training rows",
            "unknown": "words of testing rows alone, which have no column",
        }
        return [f"{line}: {some(self._said[kind])}" for kind, line in lines.items() if self._said[kind]]


def leave_out(name: str) -> str:
    return f"Leave it out: 'dataset.drop=[{name}]'."


def of_images(x: np.ndarray, train: np.ndarray, standardise: bool) -> tuple[float, float, str]:
    """One mean and deviation for arrays of several dimensions, whose entries are of one kind."""
    shape = "×".join(map(str, x.shape[1:]))
    if x.dtype.kind == "f" and not np.isfinite(x).all():
        raise UserError(f"The inputs have a value that is no finite number in row {first_row(~np.isfinite(x))}.")
    if not standardise:
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
