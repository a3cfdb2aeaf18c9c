"""An order: the runs of one submission, which its workers share."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch

from bench.base.errors import UserError
from bench.base.machine import core_share
from bench.config.run_config import RunConfig, parse
from bench.store.files import read_json, write_json
from bench.store.regular import TEXT
from bench.sweep.resume import Run, reusable, stale
from bench.sweep.sweep import pull, reject_stale
from bench.terminal.console import Console
from bench.terminal.table import varying

FILE = "order.json"
Groups = tuple[list[list[int]], int]
"""Groups of runs, by their places in a list, and the number of groups to run in parallel."""


@dataclass(frozen=True)
class Order:
    """Groups of runs, the same for all workers."""

    groups: list[list[RunConfig]]
    jobs: int  # groups that a worker runs in parallel
    name: str  # of the sweep
    varies: list[str]  # the labels that vary in it
    id: str = field(default_factory=lambda: uuid.uuid4().hex)  # recorded in the status of its runs

    @property
    def configs(self) -> list[RunConfig]:
        return [config for group in self.groups for config in group]

    def keep(self, folder: Path) -> None:
        """Write the full configurations, so that later changes of conf/ have no effect."""
        groups = [[config.plain() for config in group] for group in self.groups]
        how = {"jobs": self.jobs, "name": self.name, "varies": self.varies, "id": self.id}
        write_json(folder / FILE, {**how, "groups": groups})


def make(configs: Sequence[RunConfig], name: str, grouped: Callable[[list[RunConfig]], Groups]) -> Order:
    """Return an order for the runs that are not done, divided into groups by ``grouped``."""
    folders = [Run(config) for config in configs]
    reject_stale(folders)
    todo = [folder.config for folder in folders if not reusable(folder)]
    groups, jobs = grouped(todo) if todo else ([], 1)
    varies = varying([config.labels() for config in configs])
    return Order([[todo[place] for place in group] for group in groups], jobs, name, varies)


def read(folder: Path) -> Order:
    content = read_json(folder / FILE, TEXT)  # our own file, with the settings of many runs
    if "groups" not in content:
        raise UserError(f"{folder / FILE} is missing or damaged. Submit the runs again.")
    groups = [[parse(values) for values in group] for group in content.pop("groups")]
    return Order(groups, **content)


def outdated(order: Order) -> dict[str, str]:
    """Return the finished runs whose source or data are not those of this command, unless it has stale=keep, with what
    has changed: another command has finished them, or no worker has repeated them."""
    finished = [run for run in map(Run, order.configs) if run.config.stale != "keep" and run.final]
    return {run.path.name: reason for run in finished if (reason := stale(run))}


def work(order: Order) -> int:
    """Compute runs of the order until all are taken; returns 1 if a run failed in it or in another worker before."""
    torch.set_num_threads(min(torch.get_num_threads(), core_share(1)))  # not every SLURM binds a job to its cores
    console = Console(width=140, highlight=False)
    fates = pull(order.groups, order.jobs, console, order.name, order.varies, order.id)
    return int(any(fate.error is not None for fate in fates))


def one_folder(configs: Sequence[RunConfig]) -> Path:
    """Return the results folder of all runs; UserError if they have several."""
    folders = list(dict.fromkeys(config.results for config in configs))
    if len(folders) > 1:
        raise UserError(f"The runs of a submission must have one results folder, got {' and '.join(folders)}.")
    return Path(folders[0])
