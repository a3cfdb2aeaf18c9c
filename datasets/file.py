"""Data file of the user: csv, parquet, npz, LIBSVM or plain text."""

from pathlib import Path
from typing import Annotated

import numpy as np

from bench.base.errors import UserError
from bench.base.options import Count, Neutral
from bench.base.randomness import EVERYONE, generator
from bench.problem import Arrays, dataset
from datasets.mobydick import pieces, predicting
from datasets.own.arrays import read_libsvm, read_npz
from datasets.own.content import decoded, opened
from datasets.own.inputs import Missing, of_images, prepared
from datasets.own.limits import refuse_content
from datasets.own.parquet import read_parquet
from datasets.own.tables import columns_of, read_csv
from datasets.own.targets import Task, targets
from datasets.own.writing import Decimal, Thousands, Writing

TABLES = ("csv", "parquet")
KINDS = {"drop": TABLES, "words": TABLES, "header": ("csv",), "encoding": ("csv", "text"), "context": ("text",)}
KINDS |= dict.fromkeys(("decimal", "thousands"), (*TABLES, "npz"))
KINDS |= dict.fromkeys(("column", "task", "standardize", "missing"), (*TABLES, "npz", "LIBSVM"))
"""File formats that support an option, if not all do."""
TEST = 0.2
"""The usual fraction of rows in the test set."""


@dataset("file")
def file(
    path: Path | None = None,
    column: str | None = None,
    task: Task = "auto",
    test: float = TEST,
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
    """Predict ``column`` from all other columns. ``notes`` of the result has one line for each decision."""
    if path is None:
        raise UserError("dataset=file needs dataset.path=PATH.")
    if not path.is_file():
        raise UserError(f"dataset.path: the file {path} does not exist.")
    name, (kind, raw) = path.name, opened(path)
    given: dict[str, object] = {"decimal": decimal, "thousands": thousands, "drop": drop, "words": words}
    given |= {"header": header, "encoding": encoding, "context": context, "column": column}
    given |= {"task": None if task == "auto" else task, "missing": None if missing == "refuse" else missing}
    given |= {"standardize": None if standardize else False}
    for option, value in given.items():
        if value is not None and kind not in KINDS[option]:
            raise UserError(f"dataset.{option} is for {', '.join(KINDS[option])} files; {name} is a {kind} file.")
    if kind == "text":
        text = decoded(name, raw, encoding)
        refuse_content(f"{name} has {len(text)} characters, which need", 8 * len(text))
        return pieces(predicting(text, len(text) - _tested(test, len(text))), context or 128, f"{test:.3g}")
    if thousands is not None and thousands == decimal:
        raise UserError(f"dataset.decimal and dataset.thousands are both {decimal}, but must differ.")
    implied: dict[Thousands | None, Decimal] = {"comma": "point", "point": "comma"}
    writing = Writing(decimal or implied.get(thousands), thousands)
    if kind in TABLES:
        text = decoded(name, raw, encoding) if kind == "csv" else ""
        drop, words = list(drop or ()), list(words or ())
        if text:
            frame = read_csv(name, text, column, writing, header, drop + words)
        else:
            frame = read_parquet(name, raw, set(drop) - {column})
        content = columns_of(name, frame, column, drop, words, writing)
    else:
        content = read_npz(name, raw, column, writing) if kind == "npz" else read_libsvm(name, raw, column)
    if content.tests and test != TEST:
        raise UserError(
            f"dataset.test is for files without a test set, but {name} has one, of {content.tests} rows. "
            f"Remove dataset.test={test:g}."
        )
    count = len(content.target.values)
    tested = content.tests or _tested(test, count)
    if content.tests:
        order, origin = np.arange(count)[::-1], "given by the file"
    else:
        order, origin = generator(0, EVERYONE, "file split").permutation(count), "selected by a fixed key"
    train, tests = np.sort(order[tested:]), np.sort(order[:tested])  # both in the order of the file
    target = targets(content.target, train, task, standardize, writing)
    mean, sd = 0.0, 1.0
    if content.images is not None:
        x = content.images
        mean, sd, *lines = of_images(x, train, standardize)
    else:
        x, lines = prepared(content.columns, train, standardize, missing, writing)
    split = f"{count - tested} training rows and {tested} test rows, {origin}"
    notes = (f"{name}: {kind}, {count} rows", target.note, split, *lines, *content.notes)
    parts = (x[train], target.y[train], x[tests], target.y[tests])
    return Arrays(*parts, target.classes, mean, sd, unit=target.unit, notes=notes)


def _tested(part: float, count: int) -> int:
    """The number of rows or characters in the test set."""
    tested = round(part * count)
    if not 1 <= tested < count:
        raise UserError(
            f"dataset.test is the fraction of rows in the test set, between 0 and 1; {part:g} of {count} is {tested}."
        )
    return tested
