"""Readers of csv and parquet files."""

from __future__ import annotations

import csv
import datetime
import decimal
import io
import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.base.errors import UserError, closest
from datasets.own.content import EXACT, Column, Content, refuse_rounded, sentence
from datasets.own.limits import FEWER, SEPARATORS, refuse_blank, refuse_table
from datasets.own.parquet import INDEX
from datasets.own.writing import MISSING, POINT, Writing, as_names, of_words, refuse_points, refuse_whole

if TYPE_CHECKING:
    import pandas as pd

SEPARATOR = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)
"""First line with which Excel sets the separator."""
HEADER = (
    "If it is a row of data, add dataset.header=false; columns are then named 1, 2, …. If these are names, add "
    "dataset.header=true."
)
COMMAS = re.compile(r"\d,\d+;|;[+-]?\d+,\d")
"""Decimal comma next to a semicolon."""
HEAD = 1 << 24
"""Largest number of characters in which to look for the separator."""
UNNAMED = r"Unnamed: \d+"
"""The name that pandas gives to the column of a row index that it reads from a csv file."""
POINTS = re.compile(rb"(?<![\d.])[1-9]\d{0,2}\.\d{3}(?![\d.])")
"""Point that may be a thousands separator."""

ZEROS = rb"""(?:^|[\s"]|%b)[+-]?0\d+(?:[\s"]|%b|$)"""
"""Integer with a leading zero, between separators."""


def read_csv(
    name: str, text: str, column: str | None, writing: Writing, header: bool | None, uninterpreted: list[str]
) -> pd.DataFrame:
    """Read a table. The columns ``uninterpreted`` stay text; pandas infers the types of the others."""
    import pandas as pd  # slow to import

    text = text.lstrip("\r\n")
    named = SEPARATOR.match(text)
    text = text[named.end() :] if named else text
    head = re.split(r"[\r\n]", text[:HEAD], maxsplit=1)[0]
    marks = [mark for mark in ",;\t|" if mark in head and not (mark == "," and writing.decimal == "comma")]
    mark = named[1] if named else max(marks, key=head.count) if marks else ","
    if mark == "," and not named and COMMAS.search(head):
        raise UserError(
            f"The first line of {name} ({head[:60].rstrip()!r}) may have decimal commas between semicolons. Add "
            "dataset.decimal=comma. If the comma is the separator, write 'sep=,' as the first line."
        )
    raw = text.encode()  # a StringIO needs four times the memory
    names = _names(name, raw, mark, max(text.count("\n"), text.count("\r")))
    numbers = [word for word in names if writing.number(word) is not None]
    if header is None and (len(numbers) == len(names) or (numbers and column not in (None, *names))):
        raise UserError(f"The first line of {name} has numbers ({head[:60].rstrip()!r}). {HEADER}")
    if header is False:
        names = [str(number) for number in range(1, len(names) + 1)]
    if "" in names:
        raise UserError(f"Column {names.index('') + 1} of {name} has no name in the first line.")
    if double := sorted(word for word, count in Counter(names).items() if count > 1):
        raise UserError(
            f"{name} has several columns called {double[0]!r}; names must be unique. If the first line is a row of "
            "data, add dataset.header=false."
        )

    def read(**options: Any) -> pd.DataFrame:
        return pd.read_csv(
            io.BytesIO(raw),
            sep=mark,
            header=None if header is False else 0,
            names=names,
            index_col=False,
            na_values=list(MISSING),
            keep_default_na=False,
            skipinitialspace=True,
            decimal="," if writing.decimal == "comma" else ".",
            low_memory=False,  # infer types from all rows
            **options,
        )

    frame = read(dtype=dict.fromkeys(uninterpreted, str))
    if header is None and all((frame[word] == word).any() for word in names):
        raise UserError(
            f"The words of the first line of {name} also occur in the rows ({head[:60].rstrip()!r}). {HEADER}"
        )
    if writing.decimal is None and POINTS.search(raw):
        for word, values in frame.select_dtypes("float").items():
            size, whole = values.abs().dropna(), values.dropna() % 1 == 0
            if whole.any() and size.max() < 1000 and (size[~whole] > 1).all():  # rare: read such a column again as text
                refuse_points(str(word), read(usecols=[word], dtype=str)[word].dropna().tolist())
    zeros = re.search(ZEROS % ((re.escape(mark.encode()),) * 2), raw) is not None
    again = [  # integers are float next to missing values
        word
        for word, values in frame.select_dtypes("number").items()
        if (zeros or (values.dtype.kind == "f" and (values.abs() >= EXACT).any())) and (values.dropna() % 1 == 0).all()
    ]
    for word, texts in read(usecols=again, dtype=str).items() if again else ():
        refuse_whole(str(word), [each.strip() for each in texts.fillna("0")], writing)
    return frame


def _names(name: str, raw: bytes, mark: str, count: int) -> list[str]:
    """The names in the first row of ``count`` lines. Reject rows of other lengths, before their cells take memory."""
    separators = blank = 0

    def bounded() -> Iterator[str]:
        nonlocal separators
        for line in io.TextIOWrapper(io.BytesIO(raw), "utf-8"):
            separators += line.count(mark)
            if separators > SEPARATORS:
                raise UserError(f"A row of {name} has more than {SEPARATORS} separators. {FEWER}")
            yield line

    names: list[str] = []
    lines = csv.reader(bounded(), delimiter=mark, skipinitialspace=True)
    try:
        for row in lines:
            separators = 0
            if not row:
                refuse_blank(name, blank := blank + 1)
            elif not names:
                names = [word.strip() for word in row]
                refuse_table(name, count, len(names))
            elif len(row) != len(names):
                raise UserError(
                    f"Line {lines.line_num} of {name} has {len(row)} values, but the first line has {len(names)} "
                    f"(separator {mark!r})."
                )
    except csv.Error as error:
        raise UserError(f"{name} is not a csv file: {sentence(error)}") from error
    if not names:
        raise UserError(f"{name} is empty.")
    return names


def columns_of(
    name: str, frame: pd.DataFrame, column: str | None, drop: list[str], words: list[str], writing: Writing
) -> Content:
    known = list(frame)
    if frame.empty:
        raise UserError(f"{name} has columns ({', '.join(known)}) but no rows.")
    if column is None:
        raise UserError(f"Add dataset.column=NAME, the column to predict. {name} has {', '.join(known)}.")
    for each in (column, *drop, *words):
        if each not in known:
            raise UserError(f"{name} has no column called {each!r}.{closest(each, known)}")
    used = [each for each in known if each not in drop or each == column]
    numbers = [each for each in used if each in frame.attrs.get(INDEX, ()) or re.fullmatch(UNNAMED, each)]
    if column not in numbers and numbers:  # their order may follow the target
        raise UserError(
            f"The column {numbers[0]!r} of {name} is the row index of pandas. Skip it: add "
            f"\"dataset.drop=['{numbers[0]}']\", or save the table with index=False. If it is an input, save "
            "table.reset_index() with index=False."
        )
    columns = {each: _column(each, frame[each], writing, each in words) for each in used}
    target = columns.pop(column)
    if not columns:
        raise UserError(f"{name} has no other column than {column!r}, so there are no inputs.")
    return Content(target, list(columns.values()))


def _column(name: str, values: pd.Series, writing: Writing, declared: bool) -> Column:
    """A column of numbers if all values are numbers and not declared as words, else of words."""
    from pandas.api import types

    kind = None if declared else types.infer_dtype(values)
    if kind == "integer":
        refuse_rounded(f"Column {name!r}", values.where(values.notna(), 0).to_numpy(), as_names(name))
    if values.dtype == "object" and kind not in (None, "string"):  # texts stay shared
        values = values.convert_dtypes()
    known = values.dropna()
    numbers = types.is_numeric_dtype(values)
    if known.empty or (numbers and not declared):
        return Column(name, values.to_numpy(np.float64, na_value=np.nan))
    if types.is_datetime64_any_dtype(values) or isinstance(known.iloc[0], datetime.date | datetime.time):
        raise UserError(
            f"Column {name!r} has dates or times such as {str(known.iloc[0])!r}, which hearsay does not read. Write "
            f"numbers instead (the year, days since a start date), or skip the column: add 'dataset.drop=[{name}]'."
        )
    text = isinstance(known.iloc[0], str)
    if not (text or numbers or isinstance(known.iloc[0], int | decimal.Decimal)):
        raise UserError(f"Column {name!r} must have numbers or words; it has {type(known.iloc[0]).__name__}.")
    words = ["" if missing else str(value) for value, missing in zip(values, values.isna(), strict=True)]
    return of_words(name, words, writing if text else POINT, declared)
