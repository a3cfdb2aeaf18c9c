"""Files that are there whole or not at all."""

from __future__ import annotations

import json
import math
import os
import threading
from pathlib import Path
from typing import Any


def write_bytes(path: Path, content: bytes) -> None:
    """Replace ``path`` in one move: a reader sees the old content or the new, never a part."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        draft.write_bytes(content)
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise


def write_text(path: Path, text: str) -> None:
    write_bytes(path, text.encode())


def write_json(path: Path, value: Any) -> None:
    write_text(path, json.dumps(_finite(value), indent=1, allow_nan=False) + "\n")


def read_json(path: Path) -> dict[str, Any]:
    """What the file says; an empty dictionary where there is nothing to read."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a stream that may have been cut off in the middle of a line."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError):
        return []
    rows = []
    for line in lines[:-1]:  # what follows the last newline was never finished
        try:
            rows.append(json.loads(line))
        except ValueError:
            break
    return rows


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
