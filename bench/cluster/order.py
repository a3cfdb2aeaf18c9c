"""An order: runs for workers that come when the queue lets them, and take what is free."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.base.errors import UserError
from bench.base.files import read_json, write_json
from bench.config.run_config import RunConfig, parse

FILE = "order.json"


@dataclass(frozen=True)
class Order:
    """Groups of runs, as all workers are to make them."""

    groups: list[list[RunConfig]]
    jobs: int  # groups that a worker makes side by side
    name: str  # of the sweep
    varies: list[str]  # the labels that tell its runs apart
    since: float = field(default_factory=time.time)

    @property
    def configs(self) -> list[RunConfig]:
        return [config for group in self.groups for config in group]

    def keep(self, folder: Path) -> None:
        """The configurations themselves: what is changed in conf/ while the jobs wait changes nothing."""
        groups = [[config.plain() for config in group] for group in self.groups]
        how = {"jobs": self.jobs, "name": self.name, "varies": self.varies, "since": self.since}
        write_json(folder / FILE, {**how, "groups": groups})


def read(folder: Path) -> Order:
    said = read_json(folder / FILE)
    if "groups" not in said:
        raise UserError(f"There is no order in {folder}, or it is not what was written.")
    groups = [[parse(values) for values in group] for group in said.pop("groups")]
    return Order(groups=groups, **{name: said[name] for name in ("jobs", "name", "varies", "since")})


def one_folder(configs: Sequence[RunConfig]) -> Path:
    """The results folder of all of them."""
    folders = list(dict.fromkeys(config.results for config in configs))
    if len(folders) > 1:
        raise UserError(f"An order is for one results folder, and its runs are for {' and '.join(folders)}.")
    return Path(folders[0])
