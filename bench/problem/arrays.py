"""A dataset for classification as arrays, and whether it is one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bench.base.errors import UserError
from bench.data.recipe import Parts


@dataclass(frozen=True, eq=False)
class Arrays:
    """A dataset as it lies in memory, in compact types; inputs become (raw − mean)/sd in the batch."""

    train_x: np.ndarray
    train_y: np.ndarray
    test_x: np.ndarray
    test_y: np.ndarray
    classes: int
    mean: float = 0.0
    sd: float = 1.0

    @classmethod
    def of(cls, parts: Parts, classes: int, mean: float = 0.0, sd: float = 1.0) -> Arrays:
        """From the parts that a recipe prepared."""
        return cls(parts["train_x"], parts["train_y"], parts["test_x"], parts["test_y"], classes, mean, sd)


def sound(name: str, arrays: object) -> Arrays:
    """The arrays, if they are inputs and labels that can be trained on; else a UserError that says what is wrong."""
    if not isinstance(arrays, Arrays):
        raise UserError(f"dataset={name} must return Arrays; it returns {type(arrays).__name__}.")
    if not (isinstance(arrays.classes, int | np.integer) and arrays.classes >= 1):
        raise UserError(f"dataset={name}: classes must be a whole number from 1 on; it is {arrays.classes!r}.")
    if not (np.isfinite(arrays.mean) and np.isfinite(arrays.sd) and arrays.sd > 0):
        raise UserError(f"dataset={name}: inputs cannot be divided by sd={arrays.sd} after mean={arrays.mean}.")
    for part in ("train", "test"):
        _inputs(f"dataset={name}: {part}_x", getattr(arrays, f"{part}_x"))
        _labels(f"dataset={name}: {part}_y", getattr(arrays, f"{part}_y"), arrays.classes)
        inputs, labels = (len(getattr(arrays, f"{part}_{axis}")) for axis in "xy")
        if inputs != labels:
            raise UserError(
                f"dataset={name}: {part}_x has {inputs} rows and {part}_y {labels}; every input needs one label."
            )
    shapes = arrays.train_x.shape[1:], arrays.test_x.shape[1:]
    if shapes[0] != shapes[1]:
        raise UserError(f"dataset={name}: a training input has shape {shapes[0]}, a test input {shapes[1]}.")
    return arrays


def _inputs(where: str, x: np.ndarray) -> None:
    if not isinstance(x, np.ndarray) or x.dtype.kind not in "biuf" or x.ndim < 2 or x.size == 0:
        raise UserError(f"{where} must be an array of numbers, a row per sample; it is {_kind(x)}.")
    if x.dtype.kind == "f" and not (np.isfinite(x.min()) and np.isfinite(x.max())):  # NaN and ∞ show in these
        row = int(np.argwhere(~np.isfinite(x))[0][0])
        raise UserError(f"{where} has {x[row][~np.isfinite(x[row])][0]} in row {row}; inputs must be finite.")


def _labels(where: str, y: np.ndarray, classes: int) -> None:
    if not isinstance(y, np.ndarray) or y.dtype.kind not in "iu" or y.ndim != 1 or y.size == 0:
        raise UserError(f"{where} must be a list of whole numbers, a label per sample; it is {_kind(y)}.")
    wrong = np.flatnonzero((y < 0) | (y >= classes))
    if len(wrong):
        raise UserError(
            f"{where} has the label {y[wrong[0]]} in row {wrong[0]}; with classes={classes} they are 0 … {classes - 1}."
        )


def _kind(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} with shape {value.shape}"
    return type(value).__name__
