"""From a path to the bytes and the kind of the file there."""

from __future__ import annotations

import bz2
import codecs
import gzip
import re
import zlib
from pathlib import Path

from bench.base.errors import UserError

ENDINGS = {".csv": "csv", ".npz": "npz", ".parquet": "parquet", ".libsvm": "LIBSVM", ".svm": "LIBSVM", ".txt": "text"}
PAIRS = re.compile(rb"[-+.\deE]+([ \t]+\d+:\S+)+\s*(#.*)?$")
LINES = 20
"""Lines at the beginning of a file, one of which tells the format of LIBSVM: rows without features do not."""


def opened(path: Path) -> tuple[str, bytes]:
    """The kind of a file, by the ending of its name and its first bytes, and what is in it."""
    try:
        raw = path.read_bytes()
        raw = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else bz2.decompress(raw) if raw[:3] == b"BZh" else raw
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise UserError(f"{path} cannot be read: {error}.") from error
    if not raw.strip():
        raise UserError(f"{path.name} is empty.")
    ending = next((end for end in reversed(path.suffixes) if end not in (".gz", ".bz2")), "").lower()
    begins = {b"PAR1": "parquet", b"PK\x03\x04": "npz"}
    kind = ENDINGS.get(ending) or begins.get(raw[:4])
    if kind in (None, "text") and any(PAIRS.match(line) for line in raw[: 1 << 20].splitlines()[:LINES]):
        kind = "LIBSVM"
    if kind is None:
        raise UserError(f"{path.name} cannot be told by its name; it should end with one of {' '.join(ENDINGS)}.")
    return kind, raw


def decoded(name: str, raw: bytes, encoding: str | None) -> str:
    """Bytes as text; a UserError where they are none in this encoding."""
    try:
        text = raw.decode(encoding or "utf-8-sig")
    except UnicodeDecodeError as error:
        wide = raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        if wide or b"\0" not in raw:
            line, byte = raw.count(b"\n", 0, error.start) + 1, raw[error.start]
            raise UserError(
                f"{name} is not text in {encoding or 'UTF-8'}: line {line} has the byte 0x{byte:02x}. Name its "
                f"encoding, as in dataset.encoding={'utf-16' if wide else 'latin-1'}."
            ) from error
        text = "\0"
    except (LookupError, ValueError) as error:
        raise UserError(
            f"dataset.encoding={encoding} is not known, or not for files; use one as utf-8, latin-1, cp1252, utf-16."
        ) from error
    if "\0" in text:
        raise UserError(f"{name} is not text: it holds bytes 0x00.")
    return text.removeprefix("\ufeff")  # the mark of some encodings, which these leave there if they are named
