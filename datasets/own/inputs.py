"""Preprocessing of inputs: standardized numbers and one-hot words."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from bench.base.errors import UserError
from datasets.own.content import Column, first_row, refuse_large, some
from datasets.own.limits import refuse_table
from datasets.own.writing import Writing, refuse_numbers
from datasets.standardized import moments

Missing = Literal["refuse", "mean"]
Notes = dict[str, list[str]]
WORDS = 100
"""Largest number of different words in a column."""
SCALED, AS_IS, HOT, FILLED, CONSTANT, UNKNOWN = NOTES = (
    "standardized with the training rows",
    "not standardized",
    "one-hot columns, one per word of the training rows",
    "missing values filled",
    "constant in the training rows",
    "words that only test rows have, without a column",
)


def prepared(
    columns: list[Column], train: np.ndarray, standardize: bool, missing: Missing, writing: Writing
) -> tuple[np.ndarray, list[str]]:
    """The inputs as float32, one row per sample, and the decisions, one per line."""
    notes: Notes = {line: [] for line in NOTES}
    blocks, width = [], 0
    for column in columns:
        if column.numbers:
            refuse_large(f"Column {column.name!r}", column.values)
        else:
            drop = f"To skip the column, add 'dataset.drop=[{column.name}]'."
            refuse_numbers(column, writing, f"If they are categories, add 'dataset.words=[{column.name}]'. {drop}")
        absent = column.missing
        if absent.any():
            count = int(absent.sum())
            if missing == "refuse":
                raise UserError(
                    f"Column {column.name!r} has no value in row {first_row(absent)} ({count} of {len(absent)} rows). "
                    "Fill them, or add dataset.missing=mean."
                )
            notes[FILLED].append(f"{column.name} ({count} rows, {'the mean' if column.numbers else 'zeros'})")
        block = _numbers(column, train, standardize, notes) if column.numbers else _one_hot(column, train, notes, width)
        blocks.append(block.astype(np.float32))
        width += block.shape[1]
    if len(notes[CONSTANT]) == len(blocks):
        raise UserError("Every input column is constant in the training rows, so nothing can be learned.")
    return np.concatenate(blocks, axis=1), [f"{line}: {some(names)}" for line, names in notes.items() if names]


def _numbers(column: Column, train: np.ndarray, standardize: bool, notes: Notes) -> np.ndarray:
    values, absent = column.values, column.missing
    known = values[train][~absent[train]]
    if len(known) == 0:
        raise UserError(f"Column {column.name!r} has no values in the training rows. {_skip(column)}")
    mean, sd = moments(known)
    notes[CONSTANT if known.min() == known.max() else SCALED if standardize else AS_IS].append(column.name)
    filled = np.where(absent, 0.0, (values - mean) / sd) if standardize else np.where(absent, mean, values)
    return filled[:, None]


def _one_hot(column: Column, train: np.ndarray, notes: Notes, width: int) -> np.ndarray:
    """One column per word; there are ``width`` columns before them."""
    name, values, known = column.name, column.values, ~column.missing
    words, trained = set(values[known]), sorted(set(values[train]) - {None})
    if len(trained) > WORDS:
        raise UserError(
            f"Column {name!r} has {len(trained)} different words; at most {WORDS} are allowed. {_skip(column)}"
        )
    if len(words) == known.sum() > 2:
        raise UserError(
            f"Column {name!r} has a different word in each of its {len(words)} rows, so nothing can be learned from "
            f"it. {_skip(column)}"
        )
    refuse_table(f"With an input per word of column {name!r}, the data", len(values), width + len(trained))
    notes[CONSTANT] += [name] * (len(trained) < 2)
    notes[HOT].append(f"{name} ({len(trained)})")
    if unknown := sorted(words - set(trained)):
        notes[UNKNOWN].append(f"{name} ({some(unknown, 4)})")
    return values[:, None] == np.array(trained, dtype=object)


def _skip(column: Column) -> str:
    return f"Skip it: add 'dataset.drop=[{column.name}]'."


def _shape_of(shape: tuple[int, ...]) -> str:
    """Return the shape of a sample in words; UserError if the channels of an image seem to be its last axis."""
    if len(shape) != 3:
        return f"{'×'.join(map(str, shape))} numbers"
    if shape[0] == shape[1] != shape[2]:
        raise UserError(
            f"The array of inputs has images of the shape {shape}, but the channels come first: (channels, height, "
            "width). Save np.moveaxis(x, -1, 1) instead of x."
        )
    return f"{shape[0]} channel{'s' * (shape[0] != 1)} of {shape[1]}×{shape[2]} pixels"


def of_images(x: np.ndarray, train: np.ndarray, standardize: bool) -> tuple[float, float, str]:
    """One mean and one standard deviation of all entries of images, and the decision as a line."""
    shape = _shape_of(x.shape[1:])
    if x.dtype.kind == "f":
        if np.isnan(x).any():
            raise UserError(f"The array of inputs has a missing value (NaN) in row {first_row(np.isnan(x))}.")
        refuse_large("The array of inputs", x)
    if not standardize:
        return 0.0, 1.0, f"inputs of {shape}, not standardized"
    entries = len(train) * x[0].size
    if x.dtype.itemsize <= 2 and x.dtype.kind in "biu":  # pixels: integer sums are exact
        total = sum(int(x[row].sum(dtype=np.int64)) for row in train)
        squares = sum(int((x[row].astype(np.int64) ** 2).sum()) for row in train)
        mean, sd = total / entries, math.sqrt(entries * squares - total**2) / entries
    else:  # fsum: the same result on every machine; float64: squares of float16 or float32 may overflow
        mean = math.fsum(math.fsum(x[row].ravel().tolist()) for row in train) / entries
        apart = ((x[row].astype(np.float64).ravel() - mean) ** 2 for row in train)
        sd = math.sqrt(math.fsum(math.fsum(row.tolist()) for row in apart) / entries)
    if sd == 0:
        raise UserError("All training inputs are equal, so nothing can be learned.")
    return mean, sd, f"inputs of {shape}, {SCALED}: minus {mean:.6g}, divided by {sd:.6g}"
