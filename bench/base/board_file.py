"""Read the protocol of the board from board.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import yaml

from bench.base.board import BOARD, Board, Entrant, Side, Workload
from bench.base.board_kinds import BOARD as BOARD_KINDS
from bench.base.board_kinds import fault
from bench.base.errors import UserError, closest
from bench.base.small_file import content_up_to
from bench.base.submissions import GRIDS
from bench.base.unique_yaml import load_unique

SIZES = ("full", "quick")


def read(folder: Path = BOARD, size: str = "full") -> Board:
    """Return the protocol of a version, in the size ``full`` or ``quick``."""
    file = folder / "board.yaml"
    if not file.is_file():
        raise UserError(f"There is no board in '{folder}': {file} is missing.")
    if file.is_symlink():
        raise UserError(f"{file} is a link. Replace it by the file itself: in a version, links are not followed.")
    raw = yaml_of(file)
    if wrong := fault(raw, BOARD_KINDS):
        raise UserError(f"{file}: {wrong}. Compare it with board/v1/board.yaml.")
    try:
        board = board_of(raw, folder, size)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise UserError(f"{file} lacks or misstates {error}. Compare it with board/v1/board.yaml.") from error
    if strange := [name for name in board.hidden["workloads"] if name not in board.workloads]:
        raise UserError(f"{file}: hidden.workloads has '{strange[0]}', which is none of {', '.join(board.workloads)}.")
    return board


def yaml_of(file: Path) -> Any:
    """Return the content of a YAML file; UserError if it is none."""
    try:
        return load_unique(content_up_to(file).decode())
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise UserError(f"{file} is no valid YAML file: {error}.") from error


def board_of(raw: Mapping[str, Any], folder: Path = BOARD, size: str = "full") -> Board:
    """Return the protocol from the content of board.yaml."""
    quick = raw["quick"] if size == "quick" else None
    grids = {name: tuple(raw["grid"][name]) for name in GRIDS}

    def workloads_of(part: str, phase: str) -> dict[str, Workload]:
        return {name: replace(_workload(name, one, raw, quick), phase=phase) for name, one in raw[part].items()}

    def entrants_of(values: Mapping[str, Any]) -> dict[str, Entrant]:
        return {name: entrant(name, one, grids) for name, one in values.items()}

    workloads = workloads_of("workloads", "tune")
    entrants, bounds = entrants_of(raw["entrants"]), entrants_of(raw["bounds"])
    sides = {
        name: Side(
            one["base"],
            replace(workloads[one["base"]], name=name, set={**workloads[one["base"]].set, **one["set"]}),
            entrants_of(one["entrants"]),
        )
        for name, one in raw["side"].items()
    }
    if quick is not None:
        workloads = {name: workloads[name] for name in quick["workloads"]}
        entrants = {name: entrants[name] for name in quick["entrants"]}
        bounds = {name: one for name, one in bounds.items() if one.reference}
        sides = {}
    return Board(
        folder=folder,
        number=str(raw["version"]),
        common=dict(raw["common"]),
        evaluations=int(raw["evaluations"]),
        targets=int(raw["targets"]),
        comparisons=int(raw["comparisons"]),
        prices=raw["prices"],
        networks=tuple(raw["networks"]),
        grids=grids,
        extension=raw["grid"]["extension"],
        extensions=raw["grid"]["extensions"],
        workloads=workloads,
        dev=workloads_of("dev", "dev"),
        entrants=entrants,
        ranked=tuple(raw["ranked"]),
        bounds=bounds,
        side=sides,
        sealed=raw["sealed"],
        pilot=raw["pilot"],
        hidden={**raw["hidden"], **(quick["hidden"] if quick else {})},
        milliseconds=raw["milliseconds"],
        seeds=_tuples({**raw["seeds"], **(quick["seeds"] if quick else {})}),
        size=size,
    )


def _workload(name: str, one: Mapping[str, Any], raw: Mapping[str, Any], quick: Mapping[str, Any] | None) -> Workload:
    """Return a workload from its entry; ``quick``: the entry of the quick size."""
    if quick is None:
        seeds, schedules, budget = one.get("seeds", {}), one.get("schedules", raw["schedules"]), one["budget"]
    else:
        seeds, schedules, budget = quick["seeds"], quick["schedules"], one["budget"] * quick["budget"]
    seeds = _tuples({**raw["seeds"], **seeds})
    return Workload(name, one["stratum"], int(budget), dict(one["set"]), tuple(schedules), seeds)


def entrant(name: str, values: Mapping[str, Any], grids: Mapping[str, tuple[float, ...]]) -> Entrant:
    """Return an entrant from its entry in a file; UserError: a key is unknown; KeyError: no stepsize."""
    known = [item.name for item in fields(Entrant) if item.name not in ("name", "conf")]
    if strange := [key for key in values if key not in known]:
        raise UserError(f"The entrant '{name}' has a key '{strange[0]}'.{closest(str(strange[0]), known)}")
    stepsize, schedules = values["stepsize"], values.get("schedules")
    return Entrant(
        name,
        method=values.get("method", name),
        stepsize=stepsize,
        grid=grids[values.get("grid", GRIDS[0])] if stepsize else (),
        schedules=None if schedules is None else tuple(schedules),
        native=values.get("native"),
        set=dict(values.get("set", {})),
        reference=values.get("reference", False),
    )


def _tuples(seeds: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    return {kind: tuple(values) for kind, values in seeds.items()}
