"""A dataset as arrays, and its validation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.base.errors import UserError
from bench.data.recipe import Parts

STRATA = 10
"""Strata of samples without classes, for partitions by label."""


@dataclass(frozen=True, eq=False)
class Arrays:
    """A dataset in memory, in compact types, which a function under ``@dataset`` returns.

    A model receives (raw − mean)/sd as inputs; the conversion happens in the mini-batch.

    Attributes:
        train_x: Training inputs, one row per sample, (N, …). Of any numeric type, such as uint8 for images.
        train_y: Training targets: classes (N,), a class for each position of a text (N, L), or numbers (N,) or (N, d).
        test_x: Test inputs, of the same shape per sample.
        test_y: Test targets, of the same shape per sample.
        classes: The number of classes; targets are whole numbers 0, …, classes − 1. None for regression.
        mean: Subtracted from the inputs.
        sd: Divides the inputs; positive.
        tokens: True if inputs are token numbers, which are not scaled.
        unit: What 1 in the targets is in the units of the source, for the RMSE.
        notes: Lines for the manifest on how the arrays were made.
        crops: Shift images of a mini-batch by up to this many pixels, and flip them at random. None: never.

    Example:
        >>> Arrays(x[:300], y[:300], x[300:], y[300:], classes=2)
    """

    train_x: np.ndarray
    train_y: np.ndarray
    test_x: np.ndarray
    test_y: np.ndarray
    classes: int | None
    mean: float = 0.0
    sd: float = 1.0
    tokens: bool = False
    unit: float = 1.0
    notes: tuple[str, ...] = ()
    crops: int | None = None

    @classmethod
    def of(cls, parts: Parts, classes: int | None, mean: float = 0.0, sd: float = 1.0, **more: Any) -> Arrays:
        """Return the arrays ``train_x``, ``train_y``, ``test_x`` and ``test_y`` of a recipe, with these attributes."""
        return cls(parts["train_x"], parts["train_y"], parts["test_x"], parts["test_y"], classes, mean, sd, **more)

    @classmethod
    def of_torch(cls, train: Sequence[Any], test: Sequence[Any], classes: int | None, **more: Any) -> Arrays:
        """Return the arrays of two PyTorch Datasets that have a length, with items (input, target).

        Raises:
            UserError: A dataset is empty, or its items are not pairs.
        """
        (train_x, train_y), (test_x, test_y) = (_columns(items) for items in (train, test))
        return cls(train_x, train_y, test_x, test_y, classes, **more)

    def examples(self) -> np.ndarray:
        """Return two different inputs to test a model with; for tokens, those with the largest and smallest token."""
        if not self.tokens:
            one = self.train_x[0]
            other = next((x for x in self.train_x[1:] if not np.array_equal(x, one)), one + np.float64(self.sd))
            return np.stack([one, other])
        parts = [x.reshape(len(x), -1) for x in (self.train_x, self.test_x)]
        last, first = int(np.argmax([x.max() for x in parts])), int(np.argmin([x.min() for x in parts]))
        rows = parts[last][parts[last].max(axis=1).argmax()], parts[first][parts[first].min(axis=1).argmin()]
        return np.stack(rows).reshape(2, *self.train_x.shape[1:])

    def strata(self) -> np.ndarray:
        """Return the stratum of each training sample, (N,), for partitions by label.

        The stratum is the class. For regression it is the decile of the (first) target, for texts the tenth of the
        text that the sample comes from.
        """
        if self.classes is not None and self.train_y.ndim == 1:
            return self.train_y
        count = len(self.train_y)
        order = np.arange(count)
        if self.classes is None:
            order = np.argsort(self.train_y.reshape(count, -1)[:, 0], kind="stable")
        kinds = np.empty(count, dtype=np.int64)
        kinds[order] = np.arange(count) * STRATA // count
        return kinds


def _columns(items: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
    pairs = [items[i] for i in range(len(items))]
    if not pairs or not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in pairs):
        raise UserError("A Dataset must have at least one item, and all items must be pairs (input, target).")
    x, y = (np.stack([np.asarray(value) for value in column]) for column in zip(*pairs, strict=True))
    return x, y


def sound(name: str, arrays: object) -> Arrays:
    """Return the arrays; raise ``UserError`` with the reason if they are invalid."""
    if not isinstance(arrays, Arrays):
        raise UserError(f"dataset={name} must return Arrays; it returned {type(arrays).__name__}.")
    classes = arrays.classes
    if classes is not None and not (isinstance(classes, int | np.integer) and classes >= 1):
        raise UserError(f"dataset={name}: classes must be a positive integer; got {classes!r}.")
    if not (np.isfinite(arrays.mean) and np.isfinite(arrays.sd) and arrays.sd > 0):
        raise UserError(f"dataset={name}: mean must be finite and sd positive; got {arrays.mean} and {arrays.sd}.")
    for part in ("train", "test"):
        _inputs(f"dataset={name}: {part}_x", getattr(arrays, f"{part}_x"), arrays.tokens)
        target = f"dataset={name}: {part}_y", getattr(arrays, f"{part}_y")
        if classes is None:
            _targets(*target)
        else:
            _labels(*target, classes)
        inputs, labels = (len(getattr(arrays, f"{part}_{axis}")) for axis in "xy")
        if inputs != labels:
            raise UserError(
                f"dataset={name}: {part}_x has {inputs} rows, {part}_y has {labels}; they must have the same number."
            )
    for axis, what in (("x", "input"), ("y", "target")):
        shapes = [getattr(arrays, f"{part}_{axis}").shape[1:] for part in ("train", "test")]
        if shapes[0] != shapes[1]:
            raise UserError(f"dataset={name}: a training {what} has shape {shapes[0]}, a test {what} has {shapes[1]}.")
    return arrays


def _inputs(where: str, x: np.ndarray, tokens: bool) -> None:
    if not isinstance(x, np.ndarray) or x.dtype.kind not in "biuf" or x.ndim < 2 or x.size == 0:
        raise UserError(f"{where} must be an array of numbers with one row per sample; got {_kind(x)}.")
    if tokens and (x.dtype.kind not in "iu" or x.min() < 0):
        raise UserError(f"{where} must be tokens, which are integers from 0; got {_kind(x)}.")
    _finite(where, x, "inputs")


def _targets(where: str, y: np.ndarray) -> None:
    if not isinstance(y, np.ndarray) or y.dtype.kind not in "iuf" or y.ndim not in (1, 2) or y.size == 0:
        raise UserError(f"{where} must be an array of numbers, (N,) or (N, d); got {_kind(y)}.")
    _finite(where, y, "targets")


def _finite(where: str, x: np.ndarray, what: str) -> None:
    if x.dtype.kind == "f" and not (
        np.isfinite(x.min()) and np.isfinite(x.max())
    ):  # fast: min and max propagate NaN and ∞
        row = int(np.argwhere(~np.isfinite(x))[0][0])
        wrong = np.atleast_1d(x[row])
        raise UserError(f"{where} has {wrong[~np.isfinite(wrong)][0]} in row {row}; {what} must be finite.")


def _labels(where: str, y: np.ndarray, classes: int) -> None:
    if not isinstance(y, np.ndarray) or y.dtype.kind not in "iu" or y.ndim not in (1, 2) or y.size == 0:
        raise UserError(f"{where} must be an array of integers, (N,) or (N, L); got {_kind(y)}.")
    wrong = np.argwhere((y < 0) | (y >= classes))
    if len(wrong):
        raise UserError(
            f"{where} has the label {y[tuple(wrong[0])]} in row {wrong[0][0]}; with classes={classes}, labels are "
            f"0 … {classes - 1}."
        )


def _kind(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} with shape {value.shape}"
    return type(value).__name__
