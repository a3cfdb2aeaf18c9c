"""The protocol of the board: workloads, entrants, prices and seeds, from board.yaml."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from analysis.board.totals import COMPARISONS
from analysis.results.errors import NoData
from analysis.study.score import COUNT, Price
from bench.base.unique_yaml import load_unique

YARDSTICK = "dsgd"
"""The entrant whose tuned cost has the score 0."""
FROZEN = ("rules.md", "board.yaml", "targets.csv")
"""The files that the hash of a version covers."""


@dataclass(frozen=True)
class Workload:
    """A problem with its budget and seeds.

    Attributes:
        name: The identifier, such as D1.
        stratum: The group of workloads that it is averaged with.
        settings: Settings of run.py.
        budget: Mini-batch gradients per node.
        tune: The seeds that choose settings.
        report: The seeds that report scores.
        gate: The seeds that decide whether the graph is felt.
        schedules: The schedules of the grid.
        phase: The phase of bench/board.py that tries the grid on it.
    """

    name: str
    stratum: str
    settings: Mapping[str, Any]
    budget: float
    tune: tuple[int, ...]
    report: tuple[int, ...]
    gate: tuple[int, ...] = ()
    schedules: tuple[str, ...] = ()
    phase: str = "tune"

    @property
    def report_phase(self) -> str:
        """The phase of the report seeds."""
        return "report" if self.phase == "tune" else self.phase


@dataclass(frozen=True)
class Entrant:
    """A method with the settings that it runs with on every workload.

    Attributes:
        name: The name on the board: the method, or a bound such as ``pooled_adam``.
        algo: The method.
        settings: Settings that replace those of the workload, such as the lazy W.
        option: The tuned stepsize or multiplier; None if the method has none.
        bound: Whether it is a bound, which is shown and not ranked.
        reference: Whether it is one of the references, the best of which sets the last target.
        native: The options at which no number is left to choose; None if there are none.
        grid: The values of the tuned option that are tried in any case.
        schedules: The schedules that are tried, if they differ from those of the workload.
        conf: A folder with the defaults of the method, if it is that of a submission.
    """

    name: str
    algo: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    option: str | None = "eta"
    bound: bool = False
    reference: bool = False
    native: Mapping[str, Any] | None = None
    grid: tuple[float, ...] = ()
    schedules: tuple[str, ...] = ()
    conf: Path | None = None


@dataclass(frozen=True)
class Protocol:
    """All that board.yaml says, with the hash of the version."""

    version: str
    workloads: dict[str, Workload]
    dev: dict[str, Workload]
    entrants: dict[str, Entrant]
    prices: dict[str, Price]
    grids: Mapping[str, Any]
    common: Mapping[str, Any] = field(default_factory=dict)
    evaluations: int = 32
    count: int = COUNT
    comparisons: int = COMPARISONS
    networks: tuple[str, ...] = ("lan", "wan", "cities8")
    side: dict[str, Any] = field(default_factory=dict)
    sealed: dict[str, Workload] = field(default_factory=dict)
    hidden: Mapping[str, Any] = field(default_factory=lambda: {"workloads": []})
    hash: str = ""

    @property
    def strata(self) -> dict[str, str]:
        """The stratum of each workload."""
        return {name: workload.stratum for name, workload in self.workloads.items()}

    @property
    def ranked(self) -> list[str]:
        """The entrants that are not bounds."""
        return [name for name, entrant in self.entrants.items() if not entrant.bound]


def read_protocol(folder: Path, size: str = "full") -> Protocol:
    """Read board.yaml of a version.

    Raises:
        NoData: The file is missing, or lacks a part.
    """
    path = folder / "board.yaml"
    if not path.is_file():
        raise NoData(f"there is no {path}; give the folder of a version with --board, such as board/v1")
    try:
        found = protocol_of(load_unique(path.read_text(encoding="utf-8")), size)
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise NoData(f"{path} lacks or misstates {error}") from error
    version = hash_of(folder)
    return replace(found, hash=version, sealed=_sealed(folder / "sealed.yaml", version, found))


def _sealed(path: Path, version: str, protocol: Protocol) -> dict[str, Workload]:
    """Return the sealed workloads, with the report seeds of the others; none before bench/board.py has drawn them."""
    if not path.is_file():
        return {}
    said = load_unique(path.read_text(encoding="utf-8"))
    if said["version"] != version:
        raise NoData(f"{path} is of the version {said['version']}; repeat python bench/board.py run sealed")
    report = max((workload.report for workload in protocol.workloads.values()), key=len)
    seeds = {"tune": (), "report": report, "gate": ()}
    found = {name: _workload(name, each, seeds, ()) for name, each in said["workloads"].items()}
    return {name: replace(workload, phase="sealed") for name, workload in found.items()}


def protocol_of(said: Mapping[str, Any], size: str = "full") -> Protocol:
    """Return the protocol from the content of board.yaml."""
    grids, seeds, schedules = said["grid"], said["seeds"], said["schedules"]
    entrants = entrants_of(said["entrants"], grids, bound=False) | entrants_of(
        said.get("bounds") or {}, grids, bound=True
    )
    workloads, dev = (
        {name: _workload(name, each, seeds, schedules) for name, each in (said.get(part) or {}).items()}
        for part in ("workloads", "dev")
    )
    dev = {name: replace(each, phase="dev") for name, each in dev.items()}
    if size == "quick":
        quick = said["quick"]
        fewer = {key: tuple(some) for key, some in quick["seeds"].items()}
        workloads = {name: _smaller(workloads[name], quick, fewer) for name in quick["workloads"]}
        dev = {name: _smaller(each, quick, fewer) for name, each in dev.items()}
        entrants = {name: each for name, each in entrants.items() if each.bound or name in quick["entrants"]}
    return Protocol(
        version=str(said["version"]),
        workloads=workloads,
        dev=dev,
        entrants=entrants,
        prices={
            name: Price(**{key: float(value) for key, value in each.items()}) for name, each in said["prices"].items()
        },
        grids=grids,
        common=said.get("common") or {},
        evaluations=int(said.get("evaluations", Protocol.evaluations)),
        count=int(said.get("targets", COUNT)),
        comparisons=int(said.get("comparisons", COMPARISONS)),
        networks=tuple(said.get("networks", Protocol.networks)),
        side=dict(said.get("side") or {}) if size == "full" else {},
        hidden={
            **said.get("hidden", {"workloads": []}),
            **(said["quick"].get("hidden", {}) if size == "quick" else {}),
        },
    )


def hash_of(folder: Path) -> str:
    """Return the SHA-256 over the rules, the protocol and the targets; a missing file counts as empty."""
    digest = hashlib.sha256()
    for name in FROZEN:
        path = folder / name
        digest.update(path.read_bytes() if path.is_file() else b"")
    return digest.hexdigest()


def _workload(name: str, said: Mapping[str, Any], seeds: Mapping[str, Any], schedules: Iterable[str]) -> Workload:
    own: dict[str, Any] = {key: tuple(some) for key, some in {**seeds, **(said.get("seeds") or {})}.items()}
    tried = tuple(said.get("schedules", schedules))
    return Workload(name, said["stratum"], said["set"], float(said["budget"]), schedules=tried, **own)


def _smaller(workload: Workload, quick: Mapping[str, Any], seeds: Mapping[str, tuple[int, ...]]) -> Workload:
    own = {kind: seeds.get(kind, getattr(workload, kind)) for kind in ("tune", "report", "gate")}
    few: dict[str, Any] = {"budget": int(workload.budget * quick["budget"]), "schedules": tuple(quick["schedules"])}
    return replace(workload, **few, tune=own["tune"], report=own["report"], gate=own["gate"])


def entrants_of(said: Mapping[str, Any], grids: Mapping[str, Any], *, bound: bool) -> dict[str, Entrant]:
    """Return the entrants of a part of board.yaml."""
    return {
        name: Entrant(
            name=name,
            algo=each.get("method", name),
            settings=each.get("set") or {},
            option=each["stepsize"],
            bound=bound,
            reference=each.get("reference", False),
            native=_options(each["native"]) if "native" in each else None,
            grid=tuple(grids[each.get("grid", "follow")]) if each["stepsize"] else (),
            schedules=tuple(each.get("schedules") or ()),
        )
        for name, each in said.items()
    }


def _options(said: Mapping[str, Any]) -> dict[str, Any]:
    """Return options by their labels in results: algo.eta is eta."""
    return {name.removeprefix("algo."): value for name, value in said.items()}
