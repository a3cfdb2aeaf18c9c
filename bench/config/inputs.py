"""The files that options name: their content when a configuration is first used, and a check that it is still there.

The run_id has the digests of these files. Caches must have them in their keys, and whoever reads a file checks
afterwards that it read the content of the run_id.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from bench.base.errors import UserError
from bench.base.imported import sha256

LARGEST = 8 << 30
"""The largest file that an option may name, in bytes."""


class Input(NamedTuple):
    """A file that an option names, and its sha256."""

    group: str
    option: str  # such as topology.file
    path: Path
    sha256: str


def inputs_of(group: str, options: Mapping[str, Any]) -> Iterator[Input]:
    """Yield the files that the options of a group name; raise ``UserError`` if one is missing or not a regular file."""
    for option, path in _paths(group, options):
        if not path.is_file():  # opening a FIFO would wait without end
            raise UserError(f"{option}={path} does not exist or is not a regular file.")
        if (size := path.stat().st_size) > LARGEST:  # reading it would take minutes
            raise UserError(f"{option}={path} has {size / 1e9:.3g} GB; at most {LARGEST / 1e9:.3g} GB are allowed.")
        yield Input(group, option, path, sha256(path))


def _paths(name: str, value: Any) -> Iterator[tuple[str, Path]]:
    if isinstance(value, Path):
        yield name, value
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from _paths(f"{name}.{key}", part)


def check_unedited(inputs: Iterable[Input]) -> None:
    """Raise ``UserError`` if a file has another content than these digests say. Call it after reading the files."""
    for file in inputs:
        if not file.path.is_file() or sha256(file.path) != file.sha256:
            raise UserError(
                f"{file.option}={file.path} was edited while this command used it: its results would belong to another "
                "run. Start the same command again; finished runs are kept."
            )
