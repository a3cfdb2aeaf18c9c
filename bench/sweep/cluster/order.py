"""An order: runs for workers that come when the queue lets them, and take what is free."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.base.errors import UserError
from bench.config.run_config import RunConfig, parse
from bench.store.files import read_json, write_json
from bench.sweep.resume import Run, reusable
from bench.sweep.sweep import refuse_stale
from bench.terminal.table import varying

FILE = "order.json"
Groups = tuple[list[list[int]], int]
"""By places in a list, and how many to make side by side."""


@dataclass(frozen=True)
class Order:
    """Groups of runs, as all workers are to make them."""

    groups: list[list[RunConfig]]
    jobs: int  # groups that a worker makes side by side
    name: str  # of the sweep
    varies: list[str]  # the labels that tell its runs apart
    id: str = field(default_factory=lambda: uuid.uuid4().hex)  # noted in the status of the runs that it made

    @property
    def configs(self) -> list[RunConfig]:
        return [config for group in self.groups for config in group]

    def keep(self, folder: Path) -> None:
        """The configurations themselves: what is changed in conf/ while the jobs wait changes nothing."""
        groups = [[config.plain() for config in group] for group in self.groups]
        how = {"jobs": self.jobs, "name": self.name, "varies": self.varies, "id": self.id}
        write_json(folder / FILE, {**how, "groups": groups})


def make(configs: Sequence[RunConfig], name: str, grouped: Callable[[list[RunConfig]], Groups]) -> Order:
    """What is not done yet, ``grouped``."""
    folders = [Run(config) for config in configs]
    refuse_stale(folders)
    todo = [folder.config for folder in folders if not reusable(folder)]
    groups, jobs = grouped(todo) if todo else ([], 1)
    varies = varying([config.labels() for config in configs])
    return Order([[todo[place] for place in group] for group in groups], jobs, name, varies)


def read(folder: Path) -> Order:
    said = read_json(folder / FILE)
    if "groups" not in said:
        raise UserError(f"There is no order in {folder}, or it is not what was written.")
    groups = [[parse(values) for values in group] for group in said.pop("groups")]
    return Order(groups, said["jobs"], said["name"], said["varies"], said["id"])


def one_folder(configs: Sequence[RunConfig]) -> Path:
    """The results folder of all of them."""
    folders = list(dict.fromkeys(config.results for config in configs))
    if len(folders) > 1:
        raise UserError(f"An order is for one results folder, and its runs are for {' and '.join(folders)}.")
    return Path(folders[0])
