"""A file of your own: csv, parquet, npz, LIBSVM or plain text."""

from pathlib import Path
from typing import Annotated

import numpy as np

from bench.base.errors import UserError
from bench.base.options import Count, Neutral
from bench.base.randomness import EVERYONE, generator
from bench.problem import Arrays, dataset
from datasets.mobydick import pieces, predicting
from datasets.own.arrays import read_libsvm, read_npz
from datasets.own.content import Column, Content
from datasets.own.inputs import Inputs, Missing, of_images
from datasets.own.read import decoded, opened
from datasets.own.tables import columns_of, read_csv, read_parquet
from datasets.own.targets import Task, targets
from datasets.own.writing import Decimal, Thousands, Writing

TABLES = ("csv", "parquet")
KINDS = {"drop": TABLES, "words": TABLES, "header": ("csv",), "encoding": ("csv", "text"), "context": ("text",)}
KINDS |= dict.fromkeys(("decimal", "thousands"), (*TABLES, "npz"))
KINDS |= dict.fromkeys(("column", "task"), (*TABLES, "npz", "LIBSVM"))
"""The files that an option is for, where it is not for all."""


@dataset("file")
def file(
    path: Path | None = None,
    column: str | None = None,
    task: Task = "auto",
    test: float = 0.2,
    standardize: bool = True,
    missing: Missing = "refuse",
    decimal: Annotated[Decimal | None, Neutral(None)] = None,
    thousands: Annotated[Thousands | None, Neutral(None)] = None,
    header: Annotated[bool | None, Neutral(None)] = None,
    encoding: Annotated[str | None, Neutral(None)] = None,
    drop: Annotated[list[str] | None, Neutral(None)] = None,
    words: Annotated[list[str] | None, Neutral(None)] = None,
    context: Annotated[Count | None, Neutral(None)] = None,
) -> Arrays:
    """``column`` is predicted from all others. What was decided is said in ``notes``, a line each."""
    if path is None:
        raise UserError("dataset=file needs dataset.path=PATH.")
    if not path.is_file():
        raise UserError(f"dataset.path: there is no file {path}.")
    name, (kind, raw) = path.name, opened(path)
    given: dict[str, object] = {"decimal": decimal, "thousands": thousands, "drop": drop, "words": words}
    given |= {"header": header, "encoding": encoding, "context": context, "column": column, "task": task}
    for option, value in given.items():
        if value not in (None, "auto") and kind not in KINDS[option]:
            raise UserError(f"dataset.{option} is for {' and '.join(KINDS[option])} files; {name} is read as {kind}.")
    if kind == "text":
        text = decoded(name, raw, encoding)
        return pieces(predicting(text, len(text) - _aside(test, len(text))), context or 128, f"{test:.3g}")
    if thousands is not None and thousands == decimal:
        raise UserError(f"dataset.decimal and dataset.thousands are both {decimal}: one mark cannot be both.")
    implied: dict[Thousands | None, Decimal] = {"comma": "point", "point": "comma"}
    writing = Writing(decimal or implied.get(thousands), thousands)
    if kind in TABLES:
        text = decoded(name, raw, encoding) if kind == "csv" else ""
        drop, words = list(drop or ()), list(words or ())
        frame = read_csv(name, text, column, writing, header, drop + words) if text else read_parquet(name, raw)
        content = columns_of(name, frame, column, drop, words, writing)
    else:
        content = read_npz(name, raw, column, writing) if kind == "npz" else read_libsvm(name, raw, column)
    train, tests, note = _split(content, test)
    target = targets(_whole(content), train, task, standardize, writing)
    notes = [f"{name}: {kind}, {len(train) + len(tests)} rows", target.note, note]
    mean, sd, x = 0.0, 1.0, content.array
    if x is not None and content.tests is not None:
        x = np.concatenate([x, content.tests[0]])
    if x is not None and x.ndim > 2:
        mean, sd, line = of_images(x, train, standardize)
        notes.append(line)
    else:
        inputs = Inputs(train, standardize, missing, writing)
        for each in content.columns if x is None else _columns(x):
            inputs.add(each)
        x = inputs.array()
        notes += inputs.notes()
    parts = (x[train], target.y[train], x[tests], target.y[tests])
    return Arrays(*parts, target.classes, mean, sd, unit=target.unit, notes=tuple(notes))


def _split(content: Content, part: float) -> tuple[np.ndarray, np.ndarray, str]:
    """Rows for training and for testing, each in the order of the file; the same whatever the seed."""
    count = len(content.target.values)
    if content.tests is not None:
        more = len(content.tests[1].values)
        return (
            np.arange(count),
            np.arange(count, count + more),
            f"{count} rows for training, {more} for testing, as the file has it",
        )
    aside = _aside(part, count)
    order = generator(0, EVERYONE, "file split").permutation(count)
    note = f"{count - aside} rows for training, {aside} for testing, chosen by a fixed key"
    return np.sort(order[aside:]), np.sort(order[:aside]), note


def _aside(part: float, count: int) -> int:
    """How many rows or characters are for testing."""
    aside = round(part * count)
    if not 1 <= aside < count:
        raise UserError(
            f"dataset.test is the part of the rows to test on, between 0 and 1; {part:g} of {count} is {aside}."
        )
    return aside


def _whole(content: Content) -> Column:
    """What is to be predicted in all rows, those for testing last."""
    if content.tests is None:
        return content.target
    name, values, more = content.target.name, content.target.values, content.tests[1].values
    declared = content.target.declared and content.tests[1].declared
    if values.shape[1:] != more.shape[1:] or values.dtype != more.dtype:
        raise UserError(f"{name!r} and {content.tests[1].name!r} differ in what a row has.")
    return Column(name, np.concatenate([values, more]), declared)


def _columns(x: np.ndarray) -> list[Column]:
    return [Column(str(number), column.astype(np.float64)) for number, column in enumerate(x.T, 1)]
