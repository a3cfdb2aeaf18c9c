"""The protocol of the board: workloads, entrants, prices and seeds."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.base.errors import UserError
from bench.base.home import ROOT
from bench.base.small_file import content_up_to
from bench.base.submissions import ARCHIVE

BOARD = ROOT / "board" / "v1"
"""The folder of the present version."""
FROZEN = ("rules.md", "board.yaml", "targets.csv", "chosen.csv")
"""The files whose hash is that of the version."""

SEALED = "sealed.yaml"
"""The file of a version with the sealed workloads."""
YARDSTICK = "dsgd"
"""The entrant whose tuned cost has the score 0."""
TUNING, REPORTING, GATE = "tune", "report", "gate"
"""The kinds of seeds: those that choose settings, that report scores, and that decide whether the graph is felt."""
Settings = dict[str, Any]


@dataclass(frozen=True)
class Entrant:
    """A method with the settings that the board tries.

    Attributes:
        name: The name on the board: the method, or that of a bound such as ``pooled_adam``.
        method: The method, by default the name.
        stepsize: The option of the method that is tuned; None: there is none.
        grid: The values of this option that are tried in any case.
        schedules: The schedules that are tried; None: those of the workload.
        native: The setting with every number from the paper; None: the method leaves a number to choose.
        set: Settings beside those of the workload.
        reference: Whether F_ref is the best of this and other references.
        conf: A folder with the defaults of the method, if it is that of a submission.
    """

    name: str
    method: str
    stepsize: str | None
    grid: tuple[float, ...] = ()
    schedules: tuple[str, ...] | None = None
    native: Settings | None = None
    set: Settings = field(default_factory=dict)
    reference: bool = False
    conf: Path | None = None


@dataclass(frozen=True)
class Workload:
    """A problem on a network, with a budget of gradients per node.

    Attributes:
        name: The identifier, such as D1.
        stratum: The group of workloads that it is averaged with.
        budget: Mini-batch gradients per node.
        set: Settings of run.py.
        schedules: The schedules of the grid.
        seeds: The seeds of each kind.
        phase: The phase of bench/board.py that tries the grid on it.
    """

    name: str
    stratum: str
    budget: int
    set: Settings
    schedules: tuple[str, ...]
    seeds: Mapping[str, tuple[int, ...]]
    phase: str = "tune"

    @property
    def report_phase(self) -> str:
        """The phase of the report seeds."""
        return "report" if self.phase == "tune" else self.phase


@dataclass(frozen=True)
class Side:
    """A side table: a workload on another network, with its own entrants."""

    base: str
    workload: Workload
    entrants: Mapping[str, Entrant]


@dataclass(frozen=True)
class Board:
    """The protocol."""

    folder: Path
    number: str
    common: Settings
    evaluations: int
    targets: int
    comparisons: int
    prices: Mapping[str, Mapping[str, float]]
    networks: tuple[str, ...]
    grids: Mapping[str, tuple[float, ...]]
    extension: int
    extensions: int
    workloads: Mapping[str, Workload]
    dev: Mapping[str, Workload]
    entrants: Mapping[str, Entrant]
    ranked: tuple[str, ...]
    bounds: Mapping[str, Entrant]
    side: Mapping[str, Side]
    sealed: Mapping[str, Any]
    pilot: Mapping[str, Any]
    hidden: Mapping[str, Any]
    milliseconds: Mapping[str, float]
    seeds: Mapping[str, tuple[int, ...]]
    size: str = "full"

    @property
    def everyone(self) -> dict[str, Entrant]:
        """The entrants and the bounds."""
        return {**self.entrants, **self.bounds}

    @property
    def strata(self) -> dict[str, str]:
        """The stratum of each workload."""
        return {name: workload.stratum for name, workload in self.workloads.items()}

    @property
    def archives(self) -> list[Path]:
        """The archive of the version, whose runs are done, if it has one of this size."""
        folder = self.folder / ARCHIVE
        return [folder] if self.size == "full" and folder.is_dir() else []

    @property
    def hash(self) -> str:
        """The SHA-256 over the rules, the protocol and the targets; a missing file counts as empty."""
        files = [self.folder / name for name in FROZEN]
        return hashlib.sha256(b"".join(content_up_to(file) for file in files if file.is_file())).hexdigest()

    def version(self) -> str:
        """Return the hash of the version; UserError if it is not frozen yet."""
        for name in FROZEN:
            if not (file := self.folder / name).is_file():
                raise UserError(f"The board is not frozen: {file} is missing.")
        return self.hash
