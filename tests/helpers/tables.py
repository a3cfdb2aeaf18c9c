"""Tables of a user's own, as files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench.base.registry import datasets
from bench.problem.arrays import Arrays, sound

ROWS = 24
WHOLE = [0, 1]


def load(path: Path, column: str | None = None, **options: object) -> Arrays:
    """What dataset=file makes of a file, if it can be trained on."""
    return sound("file", datasets["file"](path, column, **options))


def as_csv(path: Path, columns: dict[str, object], mark: str = ",") -> Path:
    """Columns by name, written to a file; its path."""
    rows = zip(*columns.values(), strict=True)
    path.write_text("\n".join([mark.join(columns), *(mark.join(map(str, row)) for row in rows)]) + "\n")
    return path


def as_table(path: Path, values: Sequence[object], targets: Sequence[object] = WHOLE, mark: str = ",") -> Path:
    """``ROWS`` rows of a number, one of the values and one of the targets, in turn; the path of the file."""
    rows = [mark.join(map(str, (i, values[i % len(values)], targets[i % len(targets)]))) for i in range(ROWS)]
    path.write_text("\n".join([mark.join("aby"), *rows, ""]))
    return path
