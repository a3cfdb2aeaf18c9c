"""Read the protocol of the board from board.yaml."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from bench.base.errors import UserError, closest
from bench.base.home import ROOT
from bench.base.registry import algorithms
from bench.base.submissions import ARCHIVE, GRIDS
from bench.base.unique_yaml import load_unique
from bench.method import Properties

BOARD = ROOT / "board" / "v1"
"""The folder of the present version."""
FROZEN = ("rules.md", "board.yaml", "targets.csv")
"""The files whose hash is that of the version."""

SIZES = ("full", "quick")
Settings = dict[str, Any]


@dataclass(frozen=True)
class Entrant:
    """A method with the settings that the board tries.

    Attributes:
        name: The name on the board.
        method: The method, by default the name.
        stepsize: The option of the method that is tuned; None: there is none.
        grid: The grid of its values, ``follow`` or ``length``.
        schedules: The schedules that are tried; None: those of the workload.
        native: The setting with every number from the paper; None: the method leaves a number to choose.
        set: Settings beside those of the workload.
        reference: Whether F_ref is the best of this and other references.
    """

    name: str
    method: str = ""
    stepsize: str | None = None
    grid: str = "follow"
    schedules: tuple[str, ...] | None = None
    native: Settings | None = None
    set: Settings = field(default_factory=dict)
    reference: bool = False

    @cached_property
    def properties(self) -> Properties:
        """What the method declares with the options of this entrant."""
        own = {key.removeprefix("algo."): value for key, value in self.set.items() if key.startswith("algo.")}
        declared: Properties = algorithms[self.method].declare_for(own)
        return declared

    def steps(self, budget: int) -> int:
        """Return the number of steps with at most ``budget`` gradients per node, with those of the start."""
        return max(1, (budget - self.properties.start_samples) // self.properties.gradients)


@dataclass(frozen=True)
class Workload:
    """A problem on a network, with a budget of gradients per node."""

    name: str
    stratum: str
    budget: int
    set: Settings
    schedules: tuple[str, ...]
    seeds: Mapping[str, tuple[int, ...]]


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
    common: Settings
    evaluations: int
    grids: Mapping[str, tuple[float, ...]]
    extension: int
    extensions: int
    workloads: Mapping[str, Workload]
    dev: Mapping[str, Workload]
    entrants: Mapping[str, Entrant]
    bounds: Mapping[str, Entrant]
    side: Mapping[str, Side]
    sealed: Mapping[str, Any]
    pilot: Mapping[str, Any]
    hidden: Mapping[str, Any]
    milliseconds: Mapping[str, float]
    yardstick: str
    seeds: Mapping[str, tuple[int, ...]]
    size: str = "full"

    @property
    def everyone(self) -> dict[str, Entrant]:
        """The entrants and the bounds."""
        return {**self.entrants, **self.bounds}

    @property
    def archives(self) -> list[Path]:
        """The archive of the version, whose runs are done, if it has one of this size."""
        folder = self.folder / ARCHIVE
        return [folder] if self.size == "full" and folder.is_dir() else []

    def version(self) -> str:
        """Return the hash of the version; UserError if it is not frozen yet."""
        digest = hashlib.sha256()
        for name in FROZEN:
            if not (file := self.folder / name).is_file():
                raise UserError(f"The board is not frozen: {file} is missing.")
            digest.update(file.read_bytes())
        return digest.hexdigest()


def read(folder: Path = BOARD, size: str = "full") -> Board:
    """Return the protocol of a version, in the size ``full`` or ``quick``."""
    file = folder / "board.yaml"
    if not file.is_file():
        raise UserError(f"There is no board in '{folder}': {file} is missing.")
    raw = yaml_of(file)
    try:
        return _board(folder, size, raw)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise UserError(f"{file} lacks or misstates {error}. Compare it with board/v1/board.yaml.") from error


def yaml_of(file: Path) -> Any:
    """Return the content of a YAML file; UserError if it is none."""
    try:
        return load_unique(file.read_text("utf-8"))
    except (ValueError, yaml.YAMLError, RecursionError) as error:
        raise UserError(f"{file} is no valid YAML file: {error}.") from error


def _board(folder: Path, size: str, raw: Mapping[str, Any]) -> Board:
    """Return the protocol from the content of board.yaml."""
    quick = raw["quick"] if size == "quick" else None
    schedules, seeds = tuple(raw["schedules"]), _tuples(raw["seeds"])

    def workload(name: str, one: Mapping[str, Any]) -> Workload:
        own = (
            _tuples({**raw["seeds"], **one.get("seeds", {})}) if quick is None else {**seeds, **_tuples(quick["seeds"])}
        )
        tried = tuple(one.get("schedules", schedules) if quick is None else quick["schedules"])
        budget = int(one["budget"] * (1 if quick is None else quick["budget"]))
        return Workload(name, one["stratum"], budget, dict(one["set"]), tried, own)

    workloads = {name: workload(name, one) for name, one in raw["workloads"].items()}
    sides = {name: _side(name, one, workloads) for name, one in raw["side"].items()}
    entrants, bounds = (
        {name: entrant(name, one) for name, one in raw[part].items()} for part in ("entrants", "bounds")
    )
    if quick is not None:
        workloads = {name: workloads[name] for name in quick["workloads"]}
        entrants = {name: entrants[name] for name in quick["entrants"]}
        bounds = {name: one for name, one in bounds.items() if one.reference}
        sides = {}
    return Board(
        folder=folder,
        common=dict(raw["common"]),
        evaluations=raw["evaluations"],
        grids={name: tuple(raw["grid"][name]) for name in GRIDS},
        extension=raw["grid"]["extension"],
        extensions=raw["grid"]["extensions"],
        workloads=workloads,
        dev={name: workload(name, one) for name, one in raw["dev"].items()},
        entrants=entrants,
        bounds=bounds,
        side=sides,
        sealed=raw["sealed"],
        pilot=raw["pilot"],
        hidden={**raw["hidden"], **(quick["hidden"] if quick else {})},
        milliseconds=raw["milliseconds"],
        yardstick=raw["yardstick"],
        seeds=seeds if quick is None else {**seeds, **_tuples(quick["seeds"])},
        size=size,
    )


def entrant(name: str, values: Mapping[str, Any]) -> Entrant:
    """Return an entrant from its entry in a file; UserError if a key is unknown or an option missing."""
    known = [item.name for item in fields(Entrant) if item.name != "name"]
    if strange := [key for key in values if key not in known]:
        raise UserError(f"The entrant '{name}' has a key '{strange[0]}'.{closest(str(strange[0]), known)}")
    made = Entrant(name, **{**values, "method": values.get("method", name)})
    schedules = None if made.schedules is None else tuple(made.schedules)
    return replace(made, schedules=schedules, set=dict(made.set))


def _side(name: str, one: Mapping[str, Any], workloads: Mapping[str, Workload]) -> Side:
    base = workloads[one["base"]]
    mine = replace(base, name=name, stratum="side", set={**base.set, **one["set"]})
    return Side(base.name, mine, {key: entrant(key, value) for key, value in one["entrants"].items()})


def _tuples(seeds: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    return {kind: tuple(values) for kind, values in seeds.items()}
