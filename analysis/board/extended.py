"""Protocols made from that of the board: its side tables, its sealed workloads, and the board with a submission."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import yaml

from analysis.results.errors import NoData
from bench.base.board import REPORTING, SEALED, Board, Workload
from bench.base.board_file import entrant, yaml_of
from bench.base.board_kinds import SEALED as SEALED_KINDS
from bench.base.board_kinds import fault
from bench.base.small_file import LARGEST
from bench.base.submissions import wrong_entrant
from bench.base.unique_yaml import load_unique
from bench.store.regular import content_of


def sealed_board(board: Board) -> Board:
    """Return the protocol whose workloads are the sealed ones, none before bench/board.py has drawn them.

    Raises:
        NoData: They are those of another version.
    """
    return replace(board, workloads=_sealed(board), dev={}, side={})


def _sealed(board: Board) -> dict[str, Workload]:
    """Return the sealed workloads, each a stratum of its own, with the report seeds of the others."""
    file = board.folder / SEALED
    if not file.is_file():
        return {}
    said = yaml_of(file)
    if wrong := fault(said, SEALED_KINDS):
        raise NoData(f"{file}: {wrong}; repeat python bench/board.py run sealed")
    if said["version"] != board.hash:
        raise NoData(f"{file} is of the version {said['version']}; repeat python bench/board.py run sealed")
    report = max((workload.seeds[REPORTING] for workload in board.workloads.values()), key=len)
    return {
        name: Workload(name, name, one["budget"], one["set"], (), {REPORTING: report}, phase="sealed")
        for name, one in said["workloads"].items()
    }


def with_submission(board: Board, folder: Path) -> Board:
    """Return the protocol with the entrant of a submission, whose name is that of its folder.

    Raises:
        NoData: The folder has no valid submission.yaml.
    """
    file = folder / "submission.yaml"
    if not file.is_file():
        raise NoData(f"there is no {file}; give the name of a folder in {folder.parent} with --submission")
    try:
        said = load_unique(content_of(file, LARGEST).decode())["entrant"]
        if wrong := wrong_entrant(folder.name, said, board.everyone):
            raise NoData(f"{file}: {wrong}")
        mine = entrant(folder.name, said, board.grids)
    except (KeyError, TypeError, AttributeError, ValueError, yaml.YAMLError) as error:
        raise NoData(f"{file} lacks or misstates {error}") from error
    return replace(board, entrants={**board.entrants, folder.name: replace(mine, conf=folder / "conf")})


def side_board(board: Board, name: str) -> Board:
    """Return the protocol of a side table: the workload that it is based on with other settings, and its entrants."""
    side = board.side[name]
    return replace(board, workloads={name: side.workload}, dev={}, entrants=side.entrants, bounds={}, side={})
