"""Content of a data file, before any preprocessing."""

from __future__ import annotations

import codecs
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.base.errors import UserError
from datasets.own.limits import decompressed

ENDINGS = {".csv": "csv", ".npz": "npz", ".parquet": "parquet", ".libsvm": "LIBSVM", ".svm": "LIBSVM", ".txt": "text"}
MAGIC = {b"PAR1": "parquet", b"PK\x03\x04": "npz"}
PAIRS = re.compile(rb"[-+.\deE]+([ \t]+\d+:\S+)+\s*(#.*)?$")
LINES = 20
"""First lines in which to look for the pairs of LIBSVM, since a row without features has none."""
EXACT = 2**53
"""From here on, float64 does not distinguish neighboring integers."""
DIGITS = 40
"""Integers of more digits are too large for float32."""


@dataclass(frozen=True)
class Column:
    """Numbers (float64, NaN if missing) or words (objects, None if missing); ``declared`` as words by the user."""

    name: str
    values: np.ndarray
    declared: bool = False

    @property
    def numbers(self) -> bool:
        return self.values.dtype.kind == "f"

    @property
    def missing(self) -> np.ndarray:
        return np.isnan(self.values) if self.numbers else self.values == None  # noqa: E711, elementwise


@dataclass(frozen=True)
class Content:
    """Inputs as columns or as images (one per row), and one target column. The last ``tests`` rows are the test set.

    ``notes`` has one line for each decision of the reader.
    """

    target: Column
    columns: list[Column]
    images: np.ndarray | None = None
    tests: int = 0
    notes: Sequence[str] = ()


def opened(path: Path) -> tuple[str, bytes]:
    """The kind of a file, by its extension and first bytes, and its decompressed bytes."""
    try:
        raw = decompressed(path)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise UserError(f"Cannot read {path}: {error}.") from error
    if not raw.strip():
        raise UserError(f"{path.name} is empty.")
    ending = next((end for end in reversed(path.suffixes) if end not in (".gz", ".bz2")), "").lower()
    kind = ENDINGS.get(ending) or MAGIC.get(raw[:4])
    if kind in (None, "text") and any(PAIRS.match(line) for line in raw[: 1 << 20].splitlines()[:LINES]):
        kind = "LIBSVM"
    if kind is None:
        raise UserError(f"The format of {path.name} is unknown. Rename it to end with one of {' '.join(ENDINGS)}.")
    return kind, raw


def decoded(name: str, raw: bytes, encoding: str | None) -> str:
    """Decode text; a UserError if the bytes are not text in this encoding."""
    try:
        text = raw.decode(encoding or "utf-8-sig")
    except UnicodeDecodeError as error:
        wide = raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        if wide or b"\0" not in raw:
            line, byte = raw.count(b"\n", 0, error.start) + 1, raw[error.start]
            raise UserError(
                f"{name} is not text in {encoding or 'UTF-8'}: line {line} has the byte 0x{byte:02x}. Add the "
                f"encoding, for example dataset.encoding={'utf-16' if wide else 'latin-1'}."
            ) from error
        text = "\0"
    except (LookupError, ValueError) as error:
        raise UserError(
            f"dataset.encoding={encoding} is not a text encoding; use one such as utf-8, latin-1, cp1252 or utf-16."
        ) from error
    if "\0" in text:
        raise UserError(f"{name} is not text: it contains bytes 0x00.")
    return text.removeprefix("\ufeff")  # Python keeps the byte order mark if the encoding is named


def sentence(error: Exception) -> str:
    """The first line of a library's error message."""
    return str(error).splitlines()[0].rstrip(".")[:200] + "." if str(error) else f"{type(error).__name__}."


def first_row(wrong: np.ndarray) -> int:
    """The number of the first row with a True entry, from 1."""
    return int(np.argwhere(wrong)[0][0]) + 1


def refuse_large(where: str, values: np.ndarray) -> None:
    """Reject numbers that are infinite or too large for float32."""
    wrong = np.abs(values) > np.finfo(np.float32).max
    if wrong.any():
        raise UserError(f"{where} has {values[wrong][0]:g} in row {first_row(wrong)}; numbers must be at most 3e38.")


def rounded(whole: int) -> bool:
    """Whether float64 would change an integer; ``refuse_large`` rejects those of more digits."""
    return abs(whole) < 10**DIGITS and int(float(whole)) != whole


def refuse_rounded(where: str, whole: np.ndarray, remedy: str = "") -> None:
    """Reject integers that float64 would change. The error ends with the ``remedy``."""
    for place in np.argwhere((whole > EXACT) | (whole < -EXACT)):
        if rounded(value := int(whole[tuple(place)])):
            raise UserError(
                f"{where} has {value} in row {place[0] + 1}, which float64 rounds to {float(value):.0f}. Subtract a "
                f"constant, so that the integers are at most 2^53.{remedy}"
            )


def some(words: list[str], most: int = 12) -> str:
    """The first few words, joined."""
    more = f" and {len(words) - most} more" if len(words) > most else ""
    return ", ".join(words[:most]) + more
