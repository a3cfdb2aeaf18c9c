"""The labels that a run has if only some settings are stated: all others have the defaults of the files in conf."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from analysis.results.errors import NoData
from bench.base.board_file import yaml_of
from bench.base.home import ROOT
from bench.store.record import TAKEN

CONF = ROOT / "conf"
ALGO = "algo"
Labels = dict[str, Any]


def usual(stated: Mapping[str, Any], own: Path | None = None) -> Labels:
    """Return the labels of a run with these settings.

    Args:
        stated: Settings as on the command line.
        own: A further folder such as conf, with the defaults of a method.

    Raises:
        NoData: conf has no such method, dataset or other member of a group.
    """
    main = _content(CONF / "config.yaml")
    groups = {group: member for one in main["defaults"] if one != "_self_" for group, member in one.items()}
    groups.pop("experiment", None)
    settings = {name: value for name, value in main.items() if name != "defaults"}
    chosen = {name: value for name, value in stated.items() if name in groups}
    options = dict[str, Labels]()
    for group in ("dataset", ALGO):  # they may set other defaults
        file = Path(group, f"{chosen.get(group, groups[group])}.yaml")
        found = _content(own / file if own and (own / file).is_file() else CONF / file)
        others = {key: value for one in found.get("defaults", ()) for key, value in one.items()}
        groups |= {key.removeprefix("override /"): value for key, value in others.items()}
        if group in found:
            settings |= {name: value for name, value in found.items() if name not in ("defaults", group)}
        options[group] = found.get(group, found)
    groups |= chosen
    options |= {
        group: _content(CONF / group / f"{name}.yaml") for group, name in groups.items() if group not in options
    }
    taken = {*TAKEN, *main, *groups}
    out: Labels = {**settings, **groups}
    for group, found in options.items():
        out |= {_label(group, name, taken): value for name, value in found.items() if name != "name"}
    given = (key.partition(".") for key in stated)
    names = {f"{group}{dot}{name}": _label(group, name, taken) if dot else group for group, dot, name in given}
    return out | {names[key]: value for key, value in stated.items()}


def _label(group: str, option: str, taken: set[str]) -> str:
    """Return the label of an option: eta for algo.eta, unless the name is taken."""
    return option if group == ALGO and option not in taken else f"{group}.{option}"


@cache
def _content(file: Path) -> Labels:
    if not file.is_file():
        raise NoData(f"the board names the {file.parent.name} '{file.stem}', but there is no {file}")
    found: Labels = yaml_of(file)
    return found
