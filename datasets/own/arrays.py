"""Readers of npz and LIBSVM files."""

from __future__ import annotations

import io
import math
import re
import zlib
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, is_zipfile

import numpy as np
from numpy.lib.format import MAGIC_PREFIX

from bench.base import npy
from bench.base.errors import UserError, closest
from datasets.own.content import EXACT, Column, Content, refuse_rounded, rounded, sentence, some
from datasets.own.limits import refuse_blank, refuse_content, refuse_table
from datasets.own.writing import Writing, of_words

WHOLE = re.compile(rb"(?:^|[\s:])([+-]?\d{16,40})(?!\S)")
"""Label or value of a LIBSVM line that is a large integer."""
NAMES = {"x": ("x", "data", "inputs", "features"), "y": ("y", "target", "targets", "labels")}
"""Usual names of the arrays of inputs and of targets."""


def read_npz(name: str, raw: bytes, column: str | None, writing: Writing) -> Content:
    if not is_zipfile(io.BytesIO(raw)):
        raise UserError(f"{name} is not an npz file: it is not a zip archive.")
    try:
        _refuse_large_arrays(name, raw)
        with np.load(io.BytesIO(raw), allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in archive.files}
    except (ValueError, OSError, EOFError, BadZipFile, RuntimeError, zlib.error) as error:
        raise UserError(f"{name} is not an npz file of plain arrays: {sentence(error)}") from error
    if strange := [key for key, array in arrays.items() if not isinstance(array, np.ndarray)]:
        raise UserError(f"{name} is not an npz file of plain arrays: {strange[0]!r} is not an array.")
    if column is not None and column not in arrays:
        raise UserError(f"{name} has no array called {column!r}.{closest(column, arrays)}")
    train_x, train_y, test_x, test_y = used = _roles(name, arrays, column)
    x, y = _pair(name, arrays, train_x, train_y, writing)
    tests = 0
    if test_x and test_y:
        more_x, more_y = _pair(name, arrays, test_x, test_y, writing)
        if more_x.shape[1:] != x.shape[1:]:
            raise UserError(f"{name}: training inputs have shape {x.shape[1:]}, test inputs {more_x.shape[1:]}.")
        if more_y.values.shape[1:] != y.values.shape[1:] or more_y.values.dtype != y.values.dtype:
            raise UserError(f"{name}: {y.name!r} and {more_y.name!r} differ in their type or number of values per row.")
        x, tests = np.concatenate([x, more_x]), len(more_x)
        y = Column(y.name, np.concatenate([y.values, more_y.values]), y.declared and more_y.declared)
    unused = [key for key in arrays if key not in used]
    notes = [f"arrays that are not used: {some(unused)}"] if unused else []
    if test_x in _named(arrays, "x", "val"):
        notes.insert(0, f"test set: the arrays {test_x} and {test_y}, since there are no X_test and y_test")
    return Content(y, [] if x.ndim > 2 else _columns(x), x if x.ndim > 2 else None, tests, notes)


def _refuse_large_arrays(name: str, raw: bytes) -> None:
    """Reject an archive whose files or arrays are declared larger than the limits. Tables become float64 later."""
    if (count := raw.count(npy.ENTRY)) > npy.ENTRIES:
        raise UserError(f"{name} has {count} arrays; at most {npy.ENTRIES} are allowed.")
    total = 0
    with ZipFile(io.BytesIO(raw)) as archive:
        entries = archive.infolist()
        refuse_content(f"The decompressed files of {name} have", sum(entry.file_size for entry in entries))
        for entry in entries:
            if entry.compress_type not in (ZIP_STORED, ZIP_DEFLATED):  # zipfile decompresses others without a limit
                raise ValueError(f"{entry.filename!r} is compressed in a way that numpy does not use")
            with archive.open(entry) as file:
                if file.read(len(MAGIC_PREFIX)) != MAGIC_PREFIX:  # not an array
                    continue
                file.seek(0)
                shape, dtype = npy.header(file)
            if len(shape) == 2:
                refuse_table(f"The array {entry.filename.removesuffix('.npy')!r} of {name}", *shape)
            each = dtype.itemsize if len(shape) > 2 else max(8, dtype.itemsize)
            total += each * math.prod(max(length, 1) for length in shape)
    refuse_content(f"The arrays of {name}, with tables as float64, need", total)


def _roles(name: str, arrays: dict[str, np.ndarray], column: str | None) -> tuple[str, str, str | None, str | None]:
    """The names of the training inputs and targets, and of the test inputs and targets if there are any."""

    def only(keys: list[str], what: str, remedy: str) -> str | None:
        if len(same := [key for key in keys if arrays[key].shape[:1] == arrays[keys[0]].shape[:1]]) > 1:
            raise UserError(f"{name} has several arrays of {what}: {', '.join(same)}. {remedy}")
        return keys[0] if keys else None

    usual_y = _named(arrays, "y", "train")
    pairs = [(_named(arrays, "x", part), _named(arrays, "y", part)) for part in ("test", "val")]
    tests = next((pair for pair in pairs if all(pair)), None)
    if tests and column not in (None, *usual_y[:1]):
        remedy = f"Remove dataset.column={column}." if usual_y else "Call the training targets 'y_train'."
        raise UserError(
            f"dataset.column={column} does not name the training targets of {name}, which has a test set "
            f"({tests[0][0]!r} and {tests[1][0]!r}). {remedy}"
        )
    half = [key for keys in pairs for key in (*keys[0], *keys[1]) if usual_y or key != column]
    if half and not tests:
        raise UserError(
            f"{name} has {half[0]!r}, but a test set needs inputs and targets (X_test and y_test). Add the other array "
            "or remove this one."
        )
    keep = "Keep one of them."
    inputs = [key for key in _named(arrays, "x", "train") if key != column]
    train_x = only(inputs, "inputs", keep)
    train_y = column or only(usual_y, "targets", "Add dataset.column=NAME, the array to predict.")
    test_x, test_y = (
        (only(tests[0], "test inputs", keep), only(tests[1], "test targets", keep)) if tests else (None, None)
    )
    others = [key for key in arrays if key not in (train_y, test_x, test_y)]
    train_x = train_x or (others[0] if len(others) == 1 else None)
    if train_x is None or train_y is None:
        raise UserError(
            f"{name} must have arrays x and y, or X_train, y_train, X_test and y_test, or two arrays of which "
            f"dataset.column names the targets; it has {', '.join(arrays)}."
        )
    return train_x, train_y, test_x, test_y


def _named(arrays: dict[str, np.ndarray], axis: str, part: str) -> list[str]:
    """The arrays whose names say that they are the inputs or targets of a part of the data."""
    patterns = ("{a}_{p}", "{p}_{a}", "{a}{p}")
    wanted = [[pattern.format(p=part, a=a) for a in NAMES[axis] for pattern in patterns]]
    wanted += [list(NAMES[axis])] if part == "train" else []
    found = ([key for word in words for key in arrays if key.lower() == word] for words in wanted)
    return next(filter(None, found), [])


def _pair(name: str, arrays: dict[str, np.ndarray], x: str, y: str, writing: Writing) -> tuple[np.ndarray, Column]:
    inputs, targets = arrays[x], arrays[y]
    if inputs.dtype.kind not in "biuf" or inputs.ndim == 0:
        raise UserError(f"The array {x!r} of {name} must be numbers, one row per sample; its type is {inputs.dtype}.")
    if targets.dtype.kind not in "biufU" or not 1 <= targets.ndim <= (1 if targets.dtype.kind == "U" else 2):
        raise UserError(
            f"The array {y!r} of {name} must have numbers or one word per sample; its type is {targets.dtype} and its "
            f"shape {targets.shape}."
        )
    if len(inputs) != len(targets):
        raise UserError(f"The array {x!r} of {name} has {len(inputs)} rows, but {y!r} has {len(targets)}.")
    if len(inputs) == 0:
        raise UserError(f"The array {x!r} of {name} has no rows.")
    for key in (x, y):
        if arrays[key].dtype.kind in "iu":
            refuse_rounded(f"The array {key!r} of {name}", arrays[key])
    targets = targets[:, 0] if targets.ndim == 2 and targets.shape[1] == 1 else targets
    with np.errstate(over="ignore"):  # the checks of values reject inf
        if inputs.dtype.itemsize > 8:  # torch has no long double
            inputs = inputs.astype(np.float64)
        inputs = inputs[:, None] if inputs.ndim == 1 else inputs
        if targets.dtype.kind != "U":
            return inputs, Column(y, targets.astype(np.float64))
    digits = bool(np.strings.isdecimal(targets).all())  # words of digits are names of classes
    return inputs, of_words(y, targets.tolist(), writing, declared=digits)


def _columns(x: np.ndarray) -> list[Column]:
    return [Column(str(number), column.astype(np.float64)) for number, column in enumerate(x.T, 1)]


def read_libsvm(name: str, raw: bytes, column: str | None) -> Content:
    from sklearn.datasets import load_svmlight_file

    if column not in (None, "label"):
        raise UserError(f"The target of a LIBSVM file is its label. Remove dataset.column={column}.")
    rows, pairs = raw.count(b"\n") + 1, raw.count(b":")
    refuse_content(f"{name} has {rows} rows with {pairs} features, which need", 8 * (rows + pairs))
    for blank, _ in enumerate((line for line in io.BytesIO(raw) if not line.partition(b"#")[0].strip()), 1):
        refuse_blank(name, blank)
    try:
        x, y = load_svmlight_file(io.BytesIO(raw), dtype=np.float64)
    except (ValueError, OverflowError) as error:
        raise UserError(f"{name} is not a LIBSVM file: {sentence(error)}") from error
    if wrong := _with_underscore(raw) if b"_" in raw else None:
        raise UserError(f"{name} has {wrong.decode(errors='replace')!r}: write numbers without underscores.")
    if x.nnz == 0:
        raise UserError(f"{name} has labels but no features.")
    refuse_table(name, *x.shape)
    if max(np.abs(x.data).max(), np.abs(y).max()) >= EXACT:
        lines = [line for each in io.BytesIO(raw) if (line := each.partition(b"#")[0].strip())]
        whole = [next(filter(rounded, map(int, WHOLE.findall(line))), 0) for line in lines]
        refuse_rounded(name, np.array(whole, dtype=object))
    return Content(Column("label", y.astype(np.float64)), _columns(x.toarray()))


def _with_underscore(raw: bytes) -> bytes | None:
    """Return the first word with an underscore outside of comments."""
    words = (word for line in io.BytesIO(raw) if b"_" in line for word in line.partition(b"#")[0].split())
    return next((word for word in words if b"_" in word), None)
