"""Tables of a user's own, as files."""

from __future__ import annotations

from pathlib import Path

from bench.base.registry import datasets
from bench.problem.arrays import Arrays, sound


def load(path: Path, column: str | None = None, **options: object) -> Arrays:
    """What dataset=file makes of a file, if it can be trained on."""
    return sound("file", datasets["file"](path, column, **options))


def as_csv(path: Path, columns: dict[str, object], mark: str = ",") -> Path:
    """Columns by name, written to a file; its path."""
    rows = zip(*columns.values(), strict=True)
    path.write_text("\n".join([mark.join(columns), *(mark.join(map(str, row)) for row in rows)]) + "\n")
    return path
