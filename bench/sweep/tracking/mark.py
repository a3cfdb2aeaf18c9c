"""The mark in a run folder, which describes its W&B run. Reading it does not need W&B."""

from __future__ import annotations

import getpass
import os
import platform
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bench.config.run_config import RunConfig
from bench.store.files import read_json
from bench.store.run_folder import RunFolder

MARK = "wandb.json"
"""The file in a run folder that describes its W&B run."""
PLACE = ("project", "entity")
WRITER = "writer"
"""The entry of a mark with the user and the machine that have uploaded the run."""


def place_of(folder: Path) -> dict[str, Any]:
    """Return project and entity of the W&B run; empty for older marks and runs of `wandb agent`."""
    return {name: value for name, value in read_json(folder / MARK).items() if name in PLACE}


def writer() -> str:
    """Return the user and the machine of this process, as in ada@laptop."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container may have no name for its user
        user = str(os.getuid())
    return f"{user}@{platform.node()}"


def others(folders: Iterable[Path]) -> Counter[str]:
    """Return how many marks others have written, by user and machine: what they say cannot be verified here."""
    found = Counter(str(read_json(folder / MARK).get(WRITER, "an unknown user")) for folder in folders)
    del found[writer()]
    return found


def elsewhere(folders: Iterable[RunFolder[RunConfig]]) -> list[str]:
    """Return a notice for each setting of the tracker that existing W&B runs do not have.

    Variables of W&B have notices of their own.
    """
    found: Counter[tuple[str, str, Path]] = Counter()
    for folder in folders:
        labels, place = folder.summary(), place_of(folder.path)
        for name in PLACE:
            value = folder.config.tracker.options[name]
            written = place.get(name, labels.get(f"tracker.{name}", value))  # neither: there is no W&B run
            if value not in (None, written, os.environ.get(f"WANDB_{name.upper()}")):
                found[name, value, folder.path.parents[1]] += 1
    return [
        f"tracker.{name}={value} is ignored for {count} {'run' if count == 1 else 'runs'}: done before with another "
        f"{name}. To write W&B runs there: python bench/sync.py {results} --{name} {value}"
        for (name, value, results), count in found.items()
    ]
