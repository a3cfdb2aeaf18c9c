"""JSON files and streams of JSON lines that are written atomically and carry a digest.

The last value of a JSON file is the SHA-256 of everything before it. The last value of a line of a stream is a digest
of the name of the run, the line and all lines before it.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from bench.base import renamed
from bench.store.kinds import EVALUATIONS, MOST, ROW, odd
from bench.store.regular import TABLE, content_of, write_bytes

DIGEST = "digest"
SEAL, SEALED = b'\n "digest": "', b'"\n}\n'
"""Text before and after the digest of a JSON file."""
LINE_SEAL, LINE_SEALED = ', "digest": "', '"}'
"""Text before and after the digest of a line."""
SHORT = 16
"""Hexadecimal digits of a line's digest."""
HALF = re.compile(r"\\u[dD][89a-fA-F]")
"""The escape of a surrogate, which is half a character."""
FOREIGN = "does not match its checksum"
LARGEST, NUMBERS = 1 << 24, 50_000_000
"""Maximal size of a JSON file in bytes, and maximal numbers in a stream. Parsed, they take up to thirty times as much
memory."""


def write_text(path: Path, text: str, check: Callable[[], None] = lambda: None) -> None:
    """Replace a text file atomically; ``check`` is as in ``write_bytes``."""
    write_bytes(path, text.encode(), check)


def write_json(path: Path, value: dict[str, Any], check: Callable[[], None] = lambda: None) -> None:
    """Replace a JSON file by an object and its digest, atomically; ``check`` is as in ``write_bytes``."""
    bare = {name: item for name, item in _finite(value).items() if name != DIGEST}
    text = json.dumps({**bare, DIGEST: ""}, indent=1, allow_nan=False).encode()
    body = text.rpartition(SEAL)[0]
    write_bytes(path, body + SEAL + sha256(body).encode() + SEALED, check)


def read_json(path: Path, most: int = LARGEST) -> dict[str, Any]:
    """Return the object in a file; empty if the file is missing, damaged or larger than ``most`` bytes."""
    return check_json(path, most)[0]


def check_json(path: Path | str, most: int = LARGEST, sealed: bool = True) -> tuple[dict[str, Any], str | None]:
    """Return the object in a file without its digest, and the damage, if any. A missing file is not damaged.

    Only the files of locks have no digest (``sealed=False``).
    """
    try:
        content = content_of(path, most)
    except FileNotFoundError:
        return {}, None
    except OSError as error:
        return {}, f"cannot be read: {error.strerror or error}"
    body, _, rest = content.rpartition(SEAL)
    if sealed and rest != sha256(body).encode() + SEALED:
        return {}, FOREIGN
    try:
        value = parsed(content.decode())  # json.loads would guess the encoding of bytes
    except (ValueError, RecursionError):
        return {}, "is not JSON"
    if not isinstance(value, dict):
        return {}, FOREIGN
    value.pop(DIGEST, None)
    return value, None


def parsed(text: str) -> Any:
    """Return the value of a JSON text; ValueError if it is invalid or has half a character, which no file can store."""
    value = json.loads(text)
    if HALF.search(text):
        json.dumps(value, ensure_ascii=False).encode()
    return value


def line_of(row: dict[str, Any], before: str) -> tuple[str, str]:
    """Return a line of a stream and its digest; ``before`` is the digest of the line before, or the name of the run."""
    body = json.dumps(row)[:-1]
    digest = sha256((before + body).encode())[:SHORT]
    return f"{body}{LINE_SEAL}{digest}{LINE_SEALED}\n", digest


def stream_of(rows: Iterable[dict[str, Any]], run: str) -> tuple[str, str]:
    """Return the lines of a stream and the digest of the last one."""
    lines, digest = [], run
    for row in rows:
        line, digest = line_of(row, digest)
        lines.append(line)
    return "".join(lines), digest


def check_rows(path: Path) -> tuple[list[dict[str, Any]], str | None]:
    """Return the valid rows at the beginning of a stream, and the damage after them, if any.

    An unfinished last line is no damage: a killed process leaves it.
    """
    try:
        content = content_of(path, TABLE)
    except FileNotFoundError:
        return [], None
    except OSError as error:
        return [], f"cannot be read: {error.strerror or error}"
    rows: list[dict[str, Any]] = []
    digest = path.parent.name
    for number, line in enumerate(io.BytesIO(content), 1):  # not split(): a million empty lines would fill the memory
        if not line.endswith(b"\n"):
            break
        try:
            row, digest = _row(line[:-1].decode(), digest)
            if rows and (row.keys() != rows[0].keys() or not rows[-1]["step"] < row["step"]):
                raise ValueError("not a row that can follow")
            if len(row) > MOST:
                raise ValueError("too many metrics")
        except (ValueError, RecursionError):
            return rows, f"{FOREIGN} from line {number} on"
        if number > EVALUATIONS or number * len(row) > NUMBERS:
            return rows, f"has more than {EVALUATIONS} evaluations or {NUMBERS} numbers"
        rows.append({name: row[name] for name in rows[0]} if rows else row)  # all with the same keys in memory
    return rows, None


def _row(line: str, before: str) -> tuple[dict[str, Any], str]:
    """Return the row of a line and its digest; ValueError if the digest does not follow ``before``."""
    body, _, rest = line.rpartition(LINE_SEAL)
    digest = sha256((before + body).encode())[:SHORT]
    if rest != digest + LINE_SEALED:
        raise ValueError("another digest")
    row = parsed(body + "}")
    if type(row.get("step")) is not int or odd(row, ROW):
        raise ValueError("not a row")
    return renamed.columns(row), digest


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def lock_of(run: Path) -> Path:
    """Return the lock file of a run folder: <results>/.locks/<run_id>."""
    return run.parents[1] / ".locks" / run.name


def upload_lock_of(run: Path) -> Path:
    """Return the file of the lock under which the W&B run of a run folder is written."""
    return run.parents[1] / ".locks" / f"{run.name}.wandb"


def _finite(value: Any) -> Any:
    """Replace NaN and infinities by None, since JSON has none."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
