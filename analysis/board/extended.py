"""Protocols made from that of the board: its side tables, its sealed workloads, and the board with a submission."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import yaml

from analysis.board.protocol import Protocol, entrants_of
from analysis.results.errors import NoData
from bench.base.submissions import wrong_entrant
from bench.base.unique_yaml import load_unique


def sealed_protocol(protocol: Protocol) -> Protocol:
    """Return the protocol whose workloads are the sealed ones."""
    return replace(protocol, workloads=protocol.sealed, dev={}, side={}, sealed={})


def with_submission(protocol: Protocol, folder: Path) -> Protocol:
    """Return the protocol with the entrant of a submission, whose name is that of its folder.

    Raises:
        NoData: The folder has no valid submission.yaml.
    """
    file = folder / "submission.yaml"
    if not file.is_file():
        raise NoData(f"there is no {file}; give the name of a folder in {folder.parent} with --submission")
    try:
        said = load_unique(file.read_text(encoding="utf-8"))["entrant"]
        if wrong := wrong_entrant(folder.name, said, protocol.entrants):
            raise NoData(f"{file}: {wrong}")
        found = entrants_of({folder.name: said}, protocol.grids, bound=False)
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise NoData(f"{file} lacks or misstates {error}") from error
    mine = {name: replace(entrant, conf=folder / "conf") for name, entrant in found.items()}
    return replace(protocol, entrants=protocol.entrants | mine)


def side_protocol(protocol: Protocol, name: str) -> Protocol:
    """Return the protocol of a side table: the workload that it is based on with other settings, and its entrants."""
    said = protocol.side[name]
    base = protocol.workloads[said["base"]]
    changed = replace(base, name=name, settings={**base.settings, **(said.get("set") or {})})
    entrants = entrants_of(said["entrants"], protocol.grids, bound=False)
    return replace(protocol, workloads={name: changed}, dev={}, entrants=entrants, side={})
