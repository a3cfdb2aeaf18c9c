"""From a path to what the file there holds."""

from __future__ import annotations

import bz2
import gzip
import re
from pathlib import Path

from bench.base.errors import UserError
from datasets.own.arrays import read_libsvm, read_npz
from datasets.own.content import Content
from datasets.own.tables import read_csv, read_parquet

ENDINGS = {".csv": "csv", ".npz": "npz", ".parquet": "parquet", ".libsvm": "LIBSVM", ".svm": "LIBSVM", ".txt": "LIBSVM"}
KINDS = {"csv": read_csv, "npz": read_npz, "parquet": read_parquet, "LIBSVM": read_libsvm}
PAIRS = re.compile(rb"\S+([ \t]+\d+:\S+)+\s*(#.*)?$")


def read(path: Path, column: str | None) -> Content:
    """The content of a file, with ``column`` to be predicted."""
    try:
        raw = path.read_bytes()
        raw = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else bz2.decompress(raw) if raw[:3] == b"BZh" else raw
    except (OSError, EOFError, ValueError) as error:
        raise UserError(f"{path} cannot be read: {error}.") from error
    if not raw.strip():
        raise UserError(f"{path.name} is empty.")
    return KINDS[_kind(path, raw)](path.name, raw, column)


def _kind(path: Path, raw: bytes) -> str:
    """By the ending of the name; where it says nothing, by the first bytes."""
    ending = next((end for end in reversed(path.suffixes) if end not in (".gz", ".bz2")), "").lower()
    if ending in ENDINGS:
        return ENDINGS[ending]
    begins = {b"PAR1": "parquet", b"PK\x03\x04": "npz"}
    if raw[:4] in begins:
        return begins[raw[:4]]
    if PAIRS.match(raw.partition(b"\n")[0]):
        return "LIBSVM"
    raise UserError(f"{path.name} cannot be told by its name; it should end with one of {' '.join(ENDINGS)}.")
