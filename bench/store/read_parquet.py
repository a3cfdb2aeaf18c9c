"""Read Parquet files that others may have made: only tables of known types that fit into memory."""

from __future__ import annotations

import reprlib
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from bench.base import renamed
from bench.store.kinds import EVALUATIONS
from bench.store.parquet_pages import directory, expanded
from bench.store.regular import TABLE

VALUES, VALUES_WITH_TEXTS = 100_000_000, 20_000_000
"""Maximal numbers of values of a table of numbers and of a table with texts: a forged file of a few kilobytes can
declare more than fits in memory."""
ARCHIVED = 20_000_000
"""Maximal number of evaluations in an archive."""
NUMBERS, TEXTS = ("bool", "int32", "int64", "float", "double", "null"), ("string", "large_string")
"""The types of columns in Arrow's words, where a float has 32 bits."""
PER_VALUE, SPACE = 32, 1 << 20
"""Maximal bytes of the pages of a table of numbers: for each value, and beside them."""
ROWS = 10_000
"""Rows per batch of a table with texts."""
UNREADABLE = (OSError, ValueError, TypeError, KeyError, OverflowError, MemoryError, NotImplementedError)
"""The errors of Arrow, except pyarrow.ArrowException itself: this module does not import Arrow."""


def read_table(
    content: bytes,
    texts: bool = False,
    *,
    columns: Collection[str] | None = None,
    rows: int = EVALUATIONS,
) -> Any:
    """Return the table of a Parquet file.

    Args:
        content: The bytes of the file.
        texts: Whether columns may be texts; otherwise, all columns must be numbers.
        columns: The columns to read, by their present names; None: all.
        rows: The maximal number of rows.

    Raises:
        ValueError: The table is too large, or a column has another type. Other errors are in ``UNREADABLE``.
    """
    import pyarrow as pa  # here, since it is slow and status.py does not need it
    import pyarrow.parquet as pq

    found = directory(content)
    limits = {"rows": rows, "values": VALUES_WITH_TEXTS if texts else VALUES}
    for size, (name, most) in zip(found.counted, limits.items(), strict=True):
        if size > most:
            raise ValueError(f"a table has {size} {name}; the limit is {most}")
    if (size := expanded(content, found)) > (most := TABLE if texts else SPACE + PER_VALUE * found.counted[1]):
        raise ValueError(f"its pages expand to {size} bytes; the limit is {most}")
    # pq.read_table looks for a dataset of several files and is four times slower
    with pq.ParquetFile(pa.BufferReader(content), page_checksum_verification=True) as file:
        for column in file.schema_arrow:
            if str(column.type) not in (*NUMBERS, *TEXTS * texts):
                wrong = f"the column {reprlib.repr(column.name)} has the type {reprlib.repr(str(column.type))}"
                raise ValueError(f"{wrong}; allowed are {', '.join((*NUMBERS, *TEXTS * texts))}")
        all_names = file.schema_arrow.names
        names = None if columns is None else [name for name in all_names if renamed.column(name) in columns]
        if texts:
            stored = [column.name for column in file.schema_arrow if str(column.type) in TEXTS]
            parts = [*_batches(content, stored, names)]
            table = pa.Table.from_batches(parts, parts[0].schema if parts else file.schema_arrow)
            table.validate(full=True)  # Arrow does not check the encoding of texts while reading
        else:  # tables are small, and threads would be slower
            table = file.read(names, use_threads=False)
        return table.rename_columns([renamed.column(name) for name in table.column_names])


def _batches(content: bytes, stored: Sequence[str], names: Sequence[str] | None) -> Iterator[Any]:
    """Yield the rows of a file up to the maximal size of a table: a small file can expand to gigabytes of text.

    A text that many rows have is stored once. It is read so, and counted for each row before it is copied.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    room = TABLE
    with pq.ParquetFile(pa.BufferReader(content), page_checksum_verification=True, read_dictionary=stored) as file:
        for batch in file.iter_batches(ROWS, columns=names, use_threads=False):
            room -= sum(map(_expanded, batch.columns))
            if room < 0:
                raise ValueError(f"its texts take more than {TABLE / 1e9:.3g} GB")
            plain = [c.dictionary_decode() if isinstance(c, pa.DictionaryArray) else c for c in batch.columns]
            yield pa.RecordBatch.from_arrays(plain, names=batch.schema.names)


def _expanded(column: Any) -> int:
    """Return the bytes of a column whose equal texts are copied."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not isinstance(column, pa.DictionaryArray):
        return int(column.nbytes)
    lengths = pc.binary_length(column.dictionary).take(column.indices)
    return int(pc.sum(lengths, min_count=0).as_py()) + column.indices.nbytes
