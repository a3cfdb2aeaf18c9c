"""Read the file of an offline W&B run: protocol buffers in the log format of LevelDB.

The file begins with a header of 7 bytes. A record is one piece or several, and no piece crosses a block boundary. The
header of a piece has its checksum, its length and its kind.
"""

from __future__ import annotations

import errno
import struct
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from wandb.proto.wandb_internal_pb2 import Record  # type: ignore[attr-defined]

BLOCK, HEADER = 32768, 7
FULL, FIRST, MIDDLE, LAST = KINDS = 1, 2, 3, 4
"""The kinds of pieces."""
PATIENCE_S = 5.0
"""Seconds in which W&B closes the file after it has ended the run."""


def records(path: Path) -> Iterator[Record]:
    """Yield the records of a file.

    Raises:
        OSError: The file cannot be read, or it ends within a record.
    """
    raw, at, parts = path.read_bytes(), HEADER, b""
    while at < len(raw):
        room = BLOCK - at % BLOCK
        if room < HEADER:  # padding
            at += room
            continue
        checksum, length, kind = struct.unpack("<IHB", raw[at : at + HEADER].ljust(HEADER, b"\0"))
        piece, at = raw[at + HEADER : at + HEADER + length], at + HEADER + length
        if kind not in KINDS or zlib.crc32(piece, zlib.crc32(bytes([kind]))) != checksum:
            raise _cut_off(path)
        parts = piece if kind in (FULL, FIRST) else parts + piece
        if kind in (FULL, LAST):
            yield Record.FromString(parts)
            parts = b""
    if parts:
        raise _cut_off(path)


def _cut_off(path: Path) -> OSError:
    return OSError(errno.EIO, "the file of W&B ends within a record: was the disk full?", str(path))


def must_be_complete(path: Path, entries: int) -> None:
    """Raise OSError unless the file has an exit record and this number of history entries."""
    kinds = Counter(record.WhichOneof("record_type") for record in records(path))
    if kinds["history"] != entries or not kinds["exit"]:
        lacks = "" if kinds["exit"] else " and no end"
        reason = f"the file of W&B has {kinds['history']} of {entries} history entries{lacks}: was the disk full?"
        raise OSError(errno.EIO, reason, str(path))


def wait_until_complete(path: Path, entries: int) -> None:
    """Wait until W&B has written the file; OSError if a part is missing, since W&B does not report a full disk."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        with suppress(OSError):
            return must_be_complete(path, entries)
        time.sleep(0.02)
    must_be_complete(path, entries)
