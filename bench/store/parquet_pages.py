"""How large the pages of a Parquet file become when they are decompressed, by their own headers.

The directory at the end of the file also has sizes, but nobody checks them: a page of some kilobytes can expand to
gigabytes. The headers are structures of Thrift's compact protocol.
"""

from __future__ import annotations

from typing import Any

HARMLESS = ("UNCOMPRESSED", "SNAPPY")
"""Codecs whose pages expand 22 times at most."""
TEXTS = "BYTE_ARRAY"
"""The physical type of texts."""
DELTA = 7
"""The encoding DELTA_BYTE_ARRAY: every text repeats the beginning of the one before it."""
STOP, BYTE, DOUBLE, BINARY, LIST, SET, STRUCT = 0, 3, 7, 8, 9, 10, 12
FLAGS, INTEGERS, INT32 = (1, 2), (4, 5, 6), 5
EXPANDED, COMPRESSED = (2,), (3,)
"""The fields of a page header with its sizes."""
ENCODING = ((5, 2), (8, 4))
"""The fields of a page header with the encoding, in the two versions of data pages."""
Fields = dict[tuple[int, ...], int]
MOST_FIELDS = 1 << 15
"""A field has a smaller number; Arrow drops the upper bits of others."""


def expanded(content: bytes, metadata: Any) -> int:
    """Return the bytes of all pages when they are decompressed; 0 for numbers of codecs that expand little.

    Raises:
        ValueError: A header is invalid, or a page of texts has the encoding ``DELTA``.
    """
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    columns = [group.column(number) for group in groups for number in range(group.num_columns)]
    sizes = [column.total_compressed_size for column in columns]
    if min(sizes, default=0) < 0 or sum(sizes) > len(content):  # pages that several columns share count for each
        raise ValueError("its columns are larger than the file")
    total = 0
    for column in columns:
        if column.physical_type == TEXTS or column.compression not in HARMLESS:
            first = column.data_page_offset
            if column.has_dictionary_page and 0 < (other := column.dictionary_page_offset or 0) < first:
                first = other
            total += _of_chunk(content, first, first + column.total_compressed_size)
    return total


def counted(metadata: Any) -> tuple[int, int]:
    """Return the rows and values of a file by its row groups, which Arrow reads; the count of rows may be forged."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    counts = [[group.column(number).num_values for number in range(group.num_columns)] for group in groups]
    if min((0, *(count for some in counts for count in some))) < 0 or metadata.num_rows < 0:
        raise ValueError("it has a negative number of values")
    rows = max(metadata.num_rows, sum(max(some, default=0) for some in counts))
    return rows, max(sum(map(sum, counts)), metadata.num_rows * metadata.num_columns)


def _of_chunk(content: bytes, at: int, end: int) -> int:
    total = 0
    try:
        while 0 <= at < end:
            sizes, at = _header(content, at)
            if min(sizes.get(EXPANDED, -1), sizes.get(COMPRESSED, -1)) < 0:
                raise ValueError("a page has no size")
            if DELTA in map(sizes.get, ENCODING):  # a short file may hold gigabytes
                raise ValueError("it has texts in the encoding DELTA_BYTE_ARRAY, which hearsay does not read")
            total += sizes[EXPANDED]
            at += sizes[COMPRESSED]
    except IndexError as error:
        raise ValueError("a page ends after the file") from error
    return total


def _header(content: bytes, at: int, depth: int = 0) -> tuple[Fields, int]:
    """Return the integers of 32 bits of a structure by the numbers of their fields, and the place after it."""
    if depth > 8:
        raise ValueError("a page has a header that is nested too deeply")
    found: Fields = {}
    field = 0
    while (kind := content[at] & 15) != STOP:
        step, at = content[at] >> 4, at + 1
        last = field
        if step:
            field += step
        else:
            field, at = _integer(content, at)
        if not last < field < MOST_FIELDS:  # a reader may take the first or the last of two equal fields
            raise ValueError("a page has a header whose fields are not in order")
        if kind in INTEGERS:
            value, at = _integer(content, at)
            if kind == INT32:  # Arrow skips a field of another kind than it expects
                found[field,] = value
        elif kind == STRUCT:
            inner, at = _header(content, at, depth + 1)
            found |= {(field, *path): value for path, value in inner.items()}
        elif kind not in FLAGS:  # a flag is its kind
            at = _after(content, at, kind, depth)
    return found, at + 1


def _after(content: bytes, at: int, kind: int, depth: int) -> int:
    """Return the place after a value."""
    if kind == STRUCT:
        return _header(content, at, depth + 1)[1]
    if kind in (BYTE, *FLAGS):
        return at + 1
    if kind == DOUBLE:
        return at + 8
    if kind in INTEGERS:
        return _integer(content, at)[1]
    if kind == BINARY:
        size, at = _varint(content, at)
        return at + size
    if kind in (LIST, SET) and depth <= 8:
        size, part, at = content[at] >> 4, content[at] & 15, at + 1
        if size == 15:
            size, at = _varint(content, at)
        if size > len(content):
            raise ValueError("a page has a header with a list that is larger than the file")
        for _ in range(size):
            at = _after(content, at, part, depth + 1)
        return at
    raise ValueError(f"a page has a header with a value of the unknown kind {kind}")


def _integer(content: bytes, at: int) -> tuple[int, int]:
    value, at = _varint(content, at)
    return (value >> 1) ^ -(value & 1), at


def _varint(content: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        part, at = content[at], at + 1
        value |= (part & 127) << shift
        if part < 128:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("a page has a header with an integer of more than 64 bits")
