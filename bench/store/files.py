"""Files that are there whole or not at all, and that tell when they are not what was written.

A JSON file carries the sha256 of all that stands before it as its last value, a line of a stream the
digest of itself and of the lines before it. What earlier versions wrote has none and is taken as it is.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from bench.base import renamed
from bench.store.kinds import ROW, odd
from bench.store.regular import TABLE, TEXT, content_of, write_bytes

DIGEST = "digest"
SEAL, SEALED = b'\n "digest": "', b'"\n}\n'
"""What surrounds the digest of a JSON file;"""
LIKE_A_SEAL = re.compile(rb'"[^"]*": "[0-9a-f]{64}"\s*\}\s*$')
"""An end that only a digest has: where its name is another, it was harmed."""
LINE_SEAL, LINE_SEALED = ', "digest": "', '"}'
"""and that of a line."""
SHORT = 16
"""Hexadecimal digits of a line's digest."""
HALF = re.compile(r"\\u[dD][89a-fA-F]")
"""What a surrogate begins with."""


def write_text(path: Path, text: str, check: Callable[[], None] = lambda: None) -> None:
    """Replace a text file in one move; ``check`` may raise at the last moment."""
    write_bytes(path, text.encode(), check)


def write_json(path: Path, value: dict[str, Any], check: Callable[[], None] = lambda: None) -> None:
    """Replace a JSON file by an object with its digest; ``check`` may raise at the last moment."""
    bare = {name: item for name, item in _finite(value).items() if name != DIGEST}
    text = json.dumps({**bare, DIGEST: ""}, indent=1, allow_nan=False).encode()
    body = text.rpartition(SEAL)[0]
    write_bytes(path, body + SEAL + sha256(body).encode() + SEALED, check)


def read_json(path: Path) -> dict[str, Any]:
    """What the file says; an empty dictionary where there is nothing to read or to believe."""
    return check_json(path)[0]


def check_json(path: Path | str, most: int = TEXT) -> tuple[dict[str, Any], str | None]:
    """What the file says, without its digest, and what is wrong with it; a file that is not there is not wrong."""
    try:
        content = content_of(path, most)
    except FileNotFoundError:
        return {}, None
    except OSError as error:
        return {}, f"cannot be read: {error.strerror or error}"
    body, seal, rest = content.rpartition(SEAL)
    if seal and rest != sha256(body).encode() + SEALED:
        return {}, "is not what was written"
    try:
        value = parsed(content.decode())  # as bytes they would be searched for an encoding
    except (ValueError, RecursionError):
        return {}, "is not JSON"
    if not isinstance(value, dict) or (not seal and (DIGEST in value or LIKE_A_SEAL.search(content))):
        return {}, "is not what was written"
    value.pop(DIGEST, None)
    return value, None


def parsed(text: str) -> Any:
    """The value of a JSON text; ValueError where there is none, or half a character in it, which no file takes."""
    value = json.loads(text)
    if HALF.search(text):
        json.dumps(value, ensure_ascii=False).encode()
    return value


def line_of(row: dict[str, Any], before: str) -> tuple[str, str]:
    """A line of a stream, and its digest; ``before`` is that of the line before, or nothing."""
    body = json.dumps(row)[:-1]
    digest = sha256((before + body).encode())[:SHORT]
    return f"{body}{LINE_SEAL}{digest}{LINE_SEALED}\n", digest


def stream_of(rows: Iterable[dict[str, Any]], run: str) -> tuple[str, str]:
    """The lines of a stream, and the digest of the last; the first follows upon the name of the run."""
    lines, digest = [], run
    for row in rows:
        line, digest = line_of(row, digest)
        lines.append(line)
    return "".join(lines), digest


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a stream up to where it was cut off or damaged."""
    return check_rows(path)[0]


def check_rows(path: Path) -> tuple[list[dict[str, Any]], str | None]:
    """The sound rows at the beginning of a stream, and what is wrong with what follows.

    A last line without an end was never finished, which is what a kill leaves: that is not wrong.
    """
    try:
        content = content_of(path, TABLE)
    except FileNotFoundError:
        return [], None
    except OSError as error:
        return [], f"cannot be read: {error.strerror or error}"
    rows: list[dict[str, Any]] = []
    digest = ""
    for number, line in enumerate(io.BytesIO(content), 1):  # one at a time: a line may be a single byte
        if not line.endswith(b"\n"):
            break
        digest = digest if rows else _beginning(path.parent.name, line)
        try:
            row, digest = _row(line[:-1].decode(), digest, rows)
        except (ValueError, RecursionError):
            return rows, f"is not what was written from line {number} on"
        rows.append(row)
    return rows, None


def _beginning(run: str, line: bytes) -> str:
    """What the first line follows upon: the name of its run, or, as in earlier versions, nothing."""
    body, seal, rest = line.rpartition(LINE_SEAL.encode())
    return "" if not seal or rest.startswith(sha256(body)[:SHORT].encode()) else run


def _row(line: str, before: str, rows: Sequence[dict[str, Any]]) -> tuple[dict[str, Any], str]:
    """The row of a line and its digest; ValueError where it does not follow upon those before."""
    body, seal, rest = line.rpartition(LINE_SEAL)
    digest = sha256((before + body).encode())[:SHORT] if seal else ""
    if rest != digest + LINE_SEALED if seal else before:
        raise ValueError("not the line that was written here")
    row = parsed(body + "}" if seal else line)
    if not isinstance(row, dict) or type(row.get("step")) is not int or odd(row, ROW):
        raise ValueError("not a row")
    row = renamed.columns(row)
    if rows and (row.keys() != rows[0].keys() or not rows[-1]["step"] < row["step"]):
        raise ValueError("not a row that can follow")
    return row, digest


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def lock_of(run: Path) -> Path:
    """The file that whoever works on a run folder holds: <results>/.locks/<run_id>."""
    return run.parents[1] / ".locks" / run.name


def _finite(value: Any) -> Any:
    """JSON has no NaN: null stands for it."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
