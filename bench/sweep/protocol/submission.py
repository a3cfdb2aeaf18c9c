"""Submissions: a method file, its settings and its runs, in board/submissions/NAME."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.base.board import Board, Entrant
from bench.base.board_file import SIZES, entrant, read, yaml_of
from bench.base.errors import UserError, closest
from bench.base.registry import MODULES, algorithms, broken_plugins, discover
from bench.base.submissions import wrong_entrant
from bench.sweep.protocol.chosen import Chosen, chosen_of_submission
from bench.sweep.protocol.phases import Cell, cells

FILES = ("submission.yaml", "chosen.csv", "runs.parquet")
KEYS = {
    "version": "hash of the version of the board, which bench/board.py status prints",
    "authors": "who submits it",
    "paper": "where the method is published; unpublished: not yet",
    "file": "file of the method in this folder, such as mine.py",
    "entrant": "method, stepsize, grid and the like, as an entry of board.yaml",
}
"""The keys of submission.yaml."""
SIZE = "size"
"""A further key: a submission of the quick size is on no board, and has no version."""
PHASES = ("dev", "tune", "report")
"""The phases of a submission."""
PACKAGE = "@package"
EVENTS = [{"override /engine": "events"}, {"override /network": "lan"}]
"""The defaults in the options of an asynchronous method."""
EVERY = 10
"""One cell in so many is computed again."""


@dataclass(frozen=True)
class Submission:
    """A submission whose method is registered."""

    name: str
    folder: Path
    version: str
    entrant: Entrant
    rules: Path
    size: str = "full"

    def board(self) -> Board:
        """Return the protocol with this entrant alone."""
        return replace(read(self.rules, self.size), entrants={self.name: self.entrant}, bounds={}, side={})

    def chosen(self) -> list[Chosen]:
        return chosen_of_submission(self.folder / "chosen.csv", self.board())

    def cells(self) -> list[Cell]:
        """Return all cells that it must have run."""
        board, chosen = self.board(), self.chosen()
        return [cell for phase in PHASES for cell in cells(board, phase, chosen)]

    def sample(self, found: list[Cell], salt: str) -> list[Cell]:
        """Return one cell in ten, which the salt draws: whoever knows it before could fake the runs of the others."""

        def place(cell: Cell) -> str:
            words = f"{salt}/{self.name}/{cell.phase}/{cell.workload.name}"
            return hashlib.sha256(words.encode()).hexdigest()

        return sorted(found, key=place)[: -(-len(found) // EVERY)]


def folder_of(name: str, rules: Path) -> Path:
    """Return the folder of a submission; ``rules`` is the folder of the version."""
    return rules.parent / "submissions" / name


def read_submission(name: str, rules: Path) -> Submission:
    """Read a submission and register its method, before the registry is used; UserError with what is wrong."""
    folder = folder_of(name, rules)
    file = folder / FILES[0]
    if not file.is_file():
        raise UserError(f"There is no submission '{name}': {file} is missing.")
    values = _data_of(file)
    _check_keys(file, values)
    if wrong := wrong_entrant(name, values["entrant"], read(rules).everyone):
        raise UserError(f"{file}: {wrong}")
    module = folder / str(values["file"])
    if not module.is_file() or module.parent != folder or module.suffix != ".py" or not module.stem.isidentifier():
        raise UserError(f"{file}: file must be a Python file in this folder such as mine.py, got '{values['file']}'.")
    made = entrant(name, values["entrant"], read(rules).grids)
    if not (options := folder / "conf" / "algo" / f"{made.method}.yaml").is_file():
        raise UserError(f"{options} is missing. It has the options of the method '{made.method}' with their defaults.")
    _check_conf(folder / "conf", options, made.method)
    register(module)
    if made.method not in algorithms or not _is(algorithms.file(made.method), module):
        raise UserError(f"{module} does not register the method '{made.method}', which {file} names.")
    if made.stepsize is not None and made.stepsize not in algorithms[made.method].options():
        raise UserError(f"{file}: the method '{made.method}' has no option '{made.stepsize}'.")
    return Submission(name, folder, str(values.get("version", "")), made, rules, values.get(SIZE, "full"))


def _data_of(file: Path) -> Any:
    """Return the content of a YAML file. It is data: Hydra would put other values in the place of ${...}."""
    if file.is_symlink():
        raise UserError(f"{file} is a link. Replace it by the file itself: in a submission, links are not followed.")
    values = yaml_of(file)
    if "${" in repr(values):
        raise UserError(
            f"{file} contains '${{', which Hydra would replace, also by environment variables. Type values."
        )
    return values


def _check_keys(file: Path, values: Any) -> None:
    if not isinstance(values, Mapping):
        raise UserError(f"{file} must be a mapping with the keys {', '.join(KEYS)}.")
    known = [*KEYS, SIZE]
    if strange := [key for key in values if key not in known]:
        raise UserError(f"{file} has a key '{strange[0]}'.{closest(str(strange[0]), known)}")
    if (size := values.get(SIZE, "full")) not in SIZES:
        raise UserError(f"{file}: size must be one of {', '.join(SIZES)}, got {size!r}.")
    needed = [key for key in KEYS if key != "version" or size == "full"]
    if lacking := [key for key in needed if not values.get(key)]:
        raise UserError(f"{file} lacks '{lacking[0]}': {KEYS[lacking[0]]}.")


def _check_conf(conf: Path, options: Path, method: str) -> None:
    """Refuse files that run another method or change other settings than its options: the board fixes the problem."""
    if strange := sorted(file for file in conf.rglob("*") if file.is_file() and file != options):
        raise UserError(f"{strange[0]} is no file of a submission. Remove it: only {options} is used.")
    values = _data_of(options)
    if not isinstance(values, Mapping):
        raise UserError(f"{options} must be a mapping with the options of the method.")
    lines = options.read_text("utf-8").splitlines()
    if "defaults" not in values and not any(PACKAGE in line for line in lines):
        _check_name(options, values, "name", method)
        return
    if lines[0] != f"# {PACKAGE} _global_" or {*values} != {"defaults", "algo"} or values["defaults"] != EVENTS:
        raise UserError(
            f"{options} may set the options of the method only. That of an asynchronous method must be like "
            "conf/algo/swift.yaml: its package, the defaults events and lan, and the options under 'algo'."
        )
    _check_name(options, values["algo"], "algo.name", method)


def _check_name(options: Path, values: Any, key: str, method: str) -> None:
    """Refuse the name of another method: its runs would be those of the submission."""
    name = values.get("name") if isinstance(values, Mapping) else None
    if name != method:
        raise UserError(f"{options}: {key} must be the method of submission.yaml, '{method}', got {name!r}.")


def register(module: Path) -> None:
    """Import the file of a method as a plug-in, here and in the processes that compute its runs."""
    folder = str(module.parent.resolve())
    sys.path.insert(1, folder)
    for variable, separator, word in (("PYTHONPATH", os.pathsep, folder), (MODULES, ",", module.stem)):
        os.environ[variable] = separator.join(filter(None, (os.environ.get(variable), word)))
    discover()
    if module.stem in broken_plugins:
        raise UserError(f"{module} cannot be imported: {broken_plugins[module.stem]}.")


def _is(file: Path | None, module: Path) -> bool:
    return file is not None and file.resolve() == module.resolve()
