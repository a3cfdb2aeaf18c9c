"""csv and parquet files, as columns."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np

from bench.base.errors import UserError, closest
from datasets.own.content import Column, Content, is_number, sentence

MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "?")
"""What stands for a missing value in a csv file."""


def read_csv(name: str, raw: bytes, column: str | None) -> Content:
    import pyarrow as pa  # here: only for those who use it
    from pyarrow import csv as arrow

    try:
        head = raw.lstrip(b"\xef\xbb\xbf\r\n").partition(b"\n")[0].decode("utf-8")
        mark = max(",;\t", key=head.count)
        names = [word.strip() for word in next(csv.reader([head], delimiter=mark, skipinitialspace=True))]
    except (UnicodeDecodeError, csv.Error, StopIteration) as error:
        raise UserError(f"{name} is not a csv file of UTF-8 text: {error}.") from error
    if "\0" in head:
        raise UserError(f"{name} is not a csv file: its first line holds bytes that are no text.")
    if all(is_number(word) for word in names):
        raise UserError(f"The first line of {name} must have the names of its columns; it has numbers ({head[:60]!r}).")
    if "" in names:
        raise UserError(f"Column {names.index('') + 1} of {name} has no name in the first line.")
    if double := sorted({word for word in names if names.count(word) > 1}):
        raise UserError(f"{name} has several columns called {double[0]!r}; each needs a name of its own.")
    try:
        table = arrow.read_csv(
            io.BytesIO(raw),
            arrow.ReadOptions(block_size=min(max(len(raw), 1 << 16) + 1, (1 << 31) - 1)),  # types are told by all rows
            arrow.ParseOptions(delimiter=mark, newlines_in_values=True),
            arrow.ConvertOptions(null_values=MISSING, strings_can_be_null=True),
        )
    except pa.ArrowException as error:
        raise UserError(f"{name} cannot be read as csv: {sentence(error)}") from error
    return _table(name, "csv", table.rename_columns(names), column)


def read_parquet(name: str, raw: bytes, column: str | None) -> Content:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(pa.BufferReader(raw))
    except (pa.ArrowException, OSError) as error:
        raise UserError(f"{name} is not a parquet file: {sentence(error)}") from error
    return _table(name, "parquet", table, column)


def _table(name: str, kind: str, table: Any, column: str | None) -> Content:
    known = table.column_names
    if table.num_rows == 0:
        raise UserError(f"{name} has columns ({', '.join(known)}) and no rows.")
    if column is None:
        raise UserError(
            f"dataset=file needs dataset.column=NAME, what is to be predicted; {name} has {', '.join(known)}."
        )
    if column not in known:
        raise UserError(f"{name} has no column called {column!r}.{closest(column, known)}")
    columns = {each: _column(name, each, table.column(each)) for each in known}
    target = columns.pop(column)
    if not columns:
        raise UserError(f"{name} has no column but {column!r}: there is nothing to predict it from.")
    return Content(kind, target, list(columns.values()))


def _column(file: str, name: str, values: Any) -> Column:
    """Numbers where all are, else words."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    if pa.types.is_nested(kind) or pa.types.is_binary(kind):
        raise UserError(f"Column {name!r} of {file} holds neither numbers nor words, but {values.type}.")
    if pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_null(kind):
        return Column(name, values.cast(pa.float64()).to_numpy().astype(np.float64))
    if pa.types.is_decimal(kind):
        return Column(name, np.array([np.nan if v is None else float(v) for v in values.to_pylist()]))
    words = [None if w in MISSING else w for w in pc.utf8_trim_whitespace(values.cast(pa.string())).to_pylist()]
    if all(word is None or is_number(word) for word in words):
        return Column(name, np.array([np.nan if word is None else float(word) for word in words]))
    return Column(name, np.array(words, dtype=object))
