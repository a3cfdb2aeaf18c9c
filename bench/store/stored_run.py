"""The files of one run, read and verified."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from bench.base.evaluation import Spacing, evaluation_steps
from bench.store.integrity import Findings, examine, read_file
from bench.store.record import COLUMNS, FINAL, HOW, SCORE


class Asked(Protocol):
    """The part of a run's configuration that the store uses."""

    @property
    def results(self) -> str: ...
    @property
    def steps(self) -> int: ...
    @property
    def eval_every(self) -> int: ...
    @property
    def eval_spacing(self) -> Spacing: ...
    @property
    def run_id(self) -> str: ...
    @property
    def identity(self) -> str: ...
    def labels(self) -> dict[str, Any]: ...
    def plain(self) -> dict[str, Any]: ...


C = TypeVar("C", bound=Asked)
IDENTITY = "identity"
"""In the manifest: the hash of all settings that can change the numbers. The run_id has its beginning."""


def has_another(folder: Path, config: Asked) -> bool:
    """Whether a run folder has a run of other settings with the same run_id.

    Runs of earlier versions have no hash of all settings. Their numbers are compared.
    """
    made = read_file(folder, "manifest.json")
    if made.get("run_id") != folder.name:
        return False
    if IDENTITY in made:
        return bool(made[IDENTITY] != config.identity)
    stored = read_file(folder, "summary.json")
    return any(
        _differ(stored.get(name), value) for name, value in config.labels().items() if name.partition(".")[0] not in HOW
    )


def _differ(stored: Any, value: Any) -> bool:
    """Whether two settings are different numbers."""
    return all(type(one) in (int, float) for one in (stored, value)) and bool(stored != value)


class StoredRun(Generic[C]):
    """The folder ``<results>/runs/<run_id>/`` of one run, for reading."""

    def __init__(self, config: C) -> None:
        self.config = config
        self.path = Path(config.results).resolve() / "runs" / config.run_id
        self.checkpoints = self.path / "checkpoint"
        self.stream = self.path / "metrics.jsonl"

    def status(self) -> dict[str, Any]:
        return read_file(self.path, "status.json")

    def summary(self) -> dict[str, Any]:
        """Return the labels, the state and the latest values of the metrics that all runs have."""
        labels = self.row_labels()
        summary = read_file(self.path, "summary.json") or {**labels, "state": "missing"}
        scores = [name for name in summary if name.startswith(SCORE)]
        return {name: summary[name] for name in dict.fromkeys((*labels, "state", *COLUMNS, *scores)) if name in summary}

    def row_labels(self) -> dict[str, Any]:
        """Return the labels with the name of the folder: a data file may have changed since, and the run_id with it."""
        return {**self.config.labels(), "run_id": self.path.name}

    def manifest(self) -> dict[str, Any]:
        return read_file(self.path, "manifest.json")

    @property
    def state(self) -> str:
        """The state in summary.json if the run is finished, else the one in status.json."""
        state = read_file(self.path, "summary.json").get("state")
        return state if state in FINAL else self.status().get("state", "missing")

    @property
    def final(self) -> bool:
        """Whether the run is finished and no file is missing or damaged."""
        found = examine(self.path)
        return found.ended and not self.wrong(found)

    def wrong(self, found: Findings) -> dict[str, str]:
        """Return the damage, by file name."""
        wrong = dict(found.damaged)
        if found.ended:
            needed = ("config.yaml", "manifest.json", "metrics.parquet")
            wrong |= {name: "is missing" for name in needed if not (self.path / name).exists()}
        return wrong

    @property
    def due(self) -> list[int]:
        """The steps at which the run is evaluated."""
        return evaluation_steps(self.config.steps, self.config.eval_every, self.config.eval_spacing)
