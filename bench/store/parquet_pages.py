"""How many values a Parquet file has, and how large its pages become when they are decompressed.

The directory at the end of the file has these sizes, but nobody checks them: a page of some kilobytes can expand to
gigabytes. So the headers of the pages are read. PyArrow's functions for the columns of the directory end the process if
an entry is invalid; so the directory is read here, too. What Arrow could read in another way is rejected.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from bench.store.thrift import BINARY, INT32, INT64, LIST, PLAIN, STRUCT, Fields, structure

DIRECTORY, PAGES = 1 << 23, 1 << 20
"""The maximal bytes of a directory, which Arrow expands up to 300 times, and number of pages of a column."""
MAGIC = b"PAR1"
STRUCTS = (STRUCT, PLAIN)
COLUMN = {
    **{2: (INT32, PLAIN), 3: (BINARY, PLAIN), 8: STRUCTS, 13: STRUCTS},
    **{16: {2: (INT64, PLAIN), 3: (INT64, PLAIN)}, 17: {2: (INT32, PLAIN)}},
}
SHAPE = {2: STRUCTS, 4: (STRUCT, {1: (STRUCT, {3: COLUMN}), 4: STRUCTS}), 5: STRUCTS, 7: STRUCTS}
"""The lists of a directory: of columns, row groups, their columns, encodings, statistics and so on."""
HARMLESS = (0, 1)
"""Codecs whose pages expand 22 times at most: none, and snappy."""
TEXTS = 6
"""The physical type of texts."""
DELTA = 7
"""The encoding DELTA_BYTE_ARRAY: every text repeats the beginning of the one before it."""
ENCODINGS = {(5, STRUCT): (2, INT32), (8, STRUCT): (4, INT32)}
"""The fields of a page header with the encoding, in the two versions of data pages."""


class Column(NamedTuple):
    """The pages of a column in one row group."""

    codec: int
    values: int
    size: int
    begin: int


class Directory(NamedTuple):
    """The rows of a file, the physical types of its columns, and its row groups."""

    rows: int
    types: list[int | None]
    groups: list[list[Column]]

    @property
    def counted(self) -> tuple[int, int]:
        """The rows and values by the row groups, which Arrow reads; the count of rows may be forged."""
        counts = [[column.values for column in group] for group in self.groups]
        if min((0, *(count for some in counts for count in some))) < 0 or self.rows < 0:
            raise ValueError("it has a negative number of values")
        rows = max(self.rows, sum(max(some, default=0) for some in counts))
        return rows, max(sum(map(sum, counts)), self.rows * len(self.types))


def directory(content: bytes) -> Directory:
    """Return the directory of a file.

    Raises:
        ValueError: It is too large or invalid, or a column has no sizes.
    """
    size = int.from_bytes(content[-8:-4], "little")
    if content[-4:] != MAGIC or size > len(content) - 8:
        raise ValueError("it is not a Parquet file")
    if size > DIRECTORY:
        raise ValueError(f"the directory of its columns has {size} bytes; the limit is {DIRECTORY}")
    try:
        fields, _ = structure(content, len(content) - 8 - size, SHAPE)
        if (8, STRUCT) in fields:
            raise ValueError("it is encrypted")
        groups = [[_column(column[3, STRUCT]) for column in group[1, LIST]] for group in fields[4, LIST]]
        types = [column.get((1, INT32)) for column in fields[2, LIST][1:]]
        return Directory(fields[3, INT64], types, groups)
    except (IndexError, KeyError) as error:
        raise ValueError("the directory of its columns is not complete") from error


def _column(fields: Fields) -> Column:
    begin = fields[9, INT64]
    if 0 < (other := fields.get((11, INT64), 0)) < begin:  # the page of its dictionary
        begin = other
    return Column(fields[4, INT32], fields[5, INT64], fields[7, INT64], begin)


def expanded(content: bytes, found: Directory) -> int:
    """Return the bytes of all pages when they are decompressed; 0 for a file of numbers whose codecs expand little.

    Raises:
        ValueError: A header is invalid, or a page of texts has the encoding ``DELTA``.
    """
    columns = [column for group in found.groups for column in group]
    sizes = [column.size for column in columns]
    if min(sizes, default=0) < 0 or sum(sizes) > len(content):  # pages that several columns share count for each
        raise ValueError("its columns are larger than the file")
    read = [column for column in columns if TEXTS in found.types or column.codec not in HARMLESS]
    total = 0
    for column in read:
        for number, size in enumerate(_pages(content, column.begin, column.begin + column.size)):
            total += size
            if number == PAGES:
                raise ValueError(f"a column has more than {PAGES} pages")
    return total


def _pages(content: bytes, at: int, end: int) -> Iterator[int]:
    """Yield the sizes of the decompressed pages of a column."""
    try:
        while 0 <= at < end:
            header, at = structure(content, at)
            size, stored = header.get((2, INT32), -1), header.get((3, INT32), -1)
            if min(size, stored) < 0:
                raise ValueError("a page has no size")
            if any(header.get(kind, {}).get(field) == DELTA for kind, field in ENCODINGS.items()):
                raise ValueError("it has texts in the encoding DELTA_BYTE_ARRAY, which hearsay does not read")
            yield size
            at += stored
    except IndexError as error:
        raise ValueError("a page ends after the file") from error
