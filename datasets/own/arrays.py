"""npz and LIBSVM files, as arrays."""

from __future__ import annotations

import io
import re
import zlib
from zipfile import BadZipFile, is_zipfile

import numpy as np

from bench.base.errors import UserError, closest
from datasets.own.content import Column, Content, sentence
from datasets.own.writing import Writing, of_words

DENSE = 8 << 30
"""Bytes that the table of a LIBSVM file may take with all its zeros."""


def read_npz(name: str, raw: bytes, column: str | None, writing: Writing) -> Content:
    if not is_zipfile(io.BytesIO(raw)):
        raise UserError(f"{name} is not an npz file, which is a zip archive of arrays.")
    try:
        with np.load(io.BytesIO(raw), allow_pickle=False) as opened:
            arrays = {key: opened[key] for key in opened.files}
    except (ValueError, OSError, EOFError, BadZipFile, RuntimeError, zlib.error) as error:
        raise UserError(f"{name} is not an npz file of plain arrays: {sentence(error)}") from error
    if strange := [key for key, array in arrays.items() if not isinstance(array, np.ndarray)]:
        raise UserError(f"{name} is not an npz file of plain arrays: {strange[0]!r} is no array.")
    if column is not None and column not in arrays:
        raise UserError(f"{name} has no array called {column!r}.{closest(column, arrays)}")
    train_x, train_y = _found(arrays, "x", ("train",)), column or _found(arrays, "y", ("train",))
    test = _found(arrays, "x", ("test", "val")), _found(arrays, "y", ("test", "val"))
    others = [key for key in arrays if key not in (train_y, *test)]
    inputs = train_x or (others[0] if len(others) == 1 else None)
    if inputs is None or train_y is None or inputs == train_y:
        raise UserError(
            f"{name} must have arrays x and y, or X_train, y_train, X_test and y_test, or dataset.column must name one "
            f"of two; it has {', '.join(arrays)}."
        )
    parts = [(inputs, train_y)] + ([(test[0], test[1])] if test[0] and test[1] else [])
    (x, y), *apart = [_pair(name, arrays, x, y, writing) for x, y in parts if x and y]
    if apart and apart[0][0].shape[1:] != x.shape[1:]:
        raise UserError(f"{name}: a training input has shape {x.shape[1:]}, a test input {apart[0][0].shape[1:]}.")
    return Content(y, [], x, apart[0] if apart else None)


def _found(arrays: dict[str, np.ndarray], axis: str, words: tuple[str, ...]) -> str | None:
    """The name of an array, in any of the usual ways to write it."""
    plain = {"x": ("x", "data", "inputs", "features"), "y": ("y", "target", "targets", "labels")}[axis]
    marked = [pattern.format(w=w, a=a) for w in words for a in plain for pattern in ("{a}_{w}", "{w}_{a}", "{a}{w}")]
    wanted = (*marked, *plain) if "train" in words else marked
    return next((key for word in wanted for key in arrays if key.lower() == word), None)


def _pair(name: str, arrays: dict[str, np.ndarray], x: str, y: str, writing: Writing) -> tuple[np.ndarray, Column]:
    inputs, targets = arrays[x], arrays[y]
    if inputs.dtype.kind not in "biuf" or inputs.ndim == 0:
        raise UserError(f"The array {x!r} of {name} must be numbers, a row per sample; it is of type {inputs.dtype}.")
    if targets.dtype.kind not in "biufU" or not 1 <= targets.ndim <= (1 if targets.dtype.kind == "U" else 2):
        raise UserError(
            f"The array {y!r} of {name} must have a number or a word per sample; it is of type {targets.dtype} and "
            f"shape {targets.shape}."
        )
    if len(inputs) != len(targets):
        raise UserError(f"The array {x!r} of {name} has {len(inputs)} rows and {y!r} {len(targets)}.")
    if len(inputs) == 0:
        raise UserError(f"The array {x!r} of {name} has no rows.")
    targets = targets[:, 0] if targets.ndim == 2 and targets.shape[1] == 1 else targets
    if inputs.dtype.itemsize > 8:  # of long double, which torch does not have
        with np.errstate(over="ignore"):  # what is too large is rejected by its value
            inputs = inputs.astype(np.float64)
    return inputs.reshape(len(inputs), -1) if inputs.ndim == 1 else inputs, _targets(y, targets, writing)


def _targets(name: str, values: np.ndarray, writing: Writing) -> Column:
    """Words are numbers if they are written so, and not all digits alone: those are names of classes."""
    if values.dtype.kind == "U":
        return of_words(name, values.tolist(), writing, declared=bool(np.strings.isdecimal(values).all()))
    with np.errstate(over="ignore"):
        return Column(name, values.astype(np.float64))


def read_libsvm(name: str, raw: bytes, column: str | None) -> Content:
    from sklearn.datasets import load_svmlight_file

    if column not in (None, "label"):
        raise UserError(f"In a LIBSVM file the label is what is to be predicted: leave out dataset.column={column}.")
    try:
        x, y = load_svmlight_file(io.BytesIO(raw), dtype=np.float64)
    except (ValueError, OverflowError) as error:
        raise UserError(f"{name} is not a LIBSVM file: {sentence(error)}") from error
    if wrong := re.search(rb"^[^#\n]*?([^\s#]*_[^\s#]*)", raw, re.MULTILINE) if b"_" in raw else None:
        raise UserError(f"{name} has {wrong[1].decode(errors='replace')!r}: write numbers without underscores.")
    if x.nnz == 0:
        raise UserError(f"{name} has labels and no features.")
    if x.shape[0] * x.shape[1] * 8 > DENSE:
        raise UserError(
            f"{name} has {x.shape[0]} rows of {x.shape[1]} features: with all its zeros that is more than "
            f"{DENSE >> 30} GiB."
        )
    return Content(Column("label", y.astype(np.float64)), [], x.toarray())
