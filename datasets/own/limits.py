"""Limits of data files, which are checked before memory is allocated."""

from __future__ import annotations

import bz2
import gzip
import io
from pathlib import Path

from bench.base.errors import UserError

LIMIT = 2 << 30
"""Largest content of a data file in bytes, decompressed and with 8 bytes per number or character."""
COLUMNS = 100_000
"""Largest number of columns of a table."""
SEPARATORS, BLANK = 10 * COLUMNS, 1_000_000
"""Largest numbers of separators in a row of a csv file, also in quoted cells, and of lines without content."""
PIECE = 1 << 20
"""Number of bytes that are decompressed at a time."""
REMEDY, FEWER = "Save fewer rows or columns.", "Save fewer columns."


def refuse_content(what: str, size: int) -> None:
    """Reject content of more bytes than the limit; ``what`` is the content and a verb."""
    if size > LIMIT:
        raise UserError(f"{what} {_gib(size)}; at most {_gib(LIMIT)} are allowed. {REMEDY}")


def refuse_table(name: str, rows: int, columns: int) -> None:
    """Reject a table of numbers with too many columns, or larger than the limit as float64."""
    if columns > COLUMNS:
        raise UserError(f"{name} has {columns} columns; at most {COLUMNS} are allowed. {FEWER}")
    refuse_content(f"{name} has {rows} rows of {columns} columns, which as float64 need", 8 * rows * columns)


def refuse_blank(name: str, count: int) -> None:
    """Reject a file with too many blank lines, which take as much time as rows and have no content."""
    if count > BLANK:
        raise UserError(f"{name} has more than {BLANK} lines without content. Remove them.")


def decompressed(path: Path) -> bytes:
    """The bytes of a file; those of a gz or bz2 file are decompressed up to the limit."""
    with path.open("rb") as file:
        magic = file.read(3)
    if magic[:2] == b"\x1f\x8b":
        with gzip.open(path) as pieces:
            return _joined(path.name, pieces)
    if magic == b"BZh":
        with bz2.open(path) as pieces:
            return _joined(path.name, pieces)
    refuse_content(f"The file {path.name} has", path.stat().st_size)
    return path.read_bytes()


def _joined(name: str, pieces: io.BufferedIOBase) -> bytes:
    whole = io.BytesIO()
    while piece := pieces.read(PIECE):
        if whole.tell() + len(piece) > LIMIT:
            raise UserError(f"{name} holds more than {_gib(LIMIT)} when decompressed, which is the limit. {REMEDY}")
        whole.write(piece)
    return whole.getvalue()


def _gib(size: int) -> str:
    return f"{size / 2**30:.3g} GiB"
