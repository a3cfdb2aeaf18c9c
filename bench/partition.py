"""Show how a partition divides the training samples among the nodes.

Prints the number of samples of each node, by class (regression: by tenths of
the targets; text: by tenths of the text). Also prints the heterogeneity at the
initial point, ζ² = (1/n) Σ ‖∇f_i − ∇f‖².

Examples:
  python bench/partition.py dataset=digits partition=dirichlet nodes=8
  python bench/partition.py dataset=digits partition=by_label seed=1
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    from bench.terminal.command import begin

    begin()

import numpy as np
import torch
from rich.table import Table

from bench.base.errors import UserError
from bench.base.registry import datasets, say_broken_plugins
from bench.build.build import build_problem
from bench.build.material import class_counts, is_problem, load_arrays, shards
from bench.build.network import mixing_of
from bench.build.torch_setup import set_up_torch
from bench.config.compose import compose_one
from bench.config.run_config import RunConfig
from bench.config.source import source_of
from bench.problem.arrays import Arrays
from bench.problem.problem import Setting
from bench.sweep.preflight import check_data
from bench.terminal.command import command
from bench.terminal.console import Console
from bench.terminal.parser import command_parser
from bench.terminal.table import fits, print_whole
from bench.training.hosting import OneProcess
from bench.training.metrics import heterogeneity
from bench.training.mixers import make_mixer


def show(console: Console, counts: np.ndarray, kind: str) -> None:
    """Print one row per node; classes that exceed the width of the terminal go into further tables."""
    console.print(f"number of samples per node, in total and of each {kind}")
    first = 0
    while first < counts.shape[1]:
        stop = first + 1
        while stop < counts.shape[1] and fits(console, table(counts, range(first, stop + 1))):
            stop += 1
        print_whole(console, table(counts, range(first, stop)))
        first = stop


def kind_of(arrays: Arrays) -> str:
    """Return the name of one of the parts by which samples are counted."""
    if arrays.classes is None:
        return "tenth of the targets, the smallest first"
    return "class" if arrays.train_y.ndim == 1 else "tenth of the text, in its order"


def table(counts: np.ndarray, classes: range) -> Table:
    """Return a table with one row per node and a column for each of these classes."""
    out = Table()
    for name in ("node", "samples", *map(str, classes)):
        out.add_column(name, justify="right", no_wrap=True)
    for node, row in enumerate(counts):
        out.add_row(str(node), str(row.sum()), *(str(row[label]) for label in classes))
    return out


def zeta(config: RunConfig) -> float | None:
    """Return the heterogeneity ζ² at the average initial point."""
    dtype, device = getattr(torch, config.dtype), torch.device(config.device)
    setting = Setting(config.nodes, range(config.nodes), (config.seed,), config.batch_size, dtype, device)
    problem = build_problem(config, setting)
    hosting = OneProcess(config.nodes, make_mixer([mixing_of(config)], dtype, device))
    return heterogeneity(problem.start(), problem, hosting)[0]


@command
def main() -> int:
    parser = command_parser(__doc__, config=True)
    parser.add_argument(
        "overrides",
        nargs="*",
        metavar="SETTING=VALUE",
        help="settings as for run.py, above all dataset=NAME, partition=NAME, nodes=N and seed=S (default: "
        "partition=even nodes=8 seed=0)",
    )
    arguments = parser.parse_intermixed_args()
    console = Console()
    set_up_torch()
    say_broken_plugins()
    config = compose_one(arguments.overrides, source_of(arguments))
    if is_problem(datasets[config.dataset.name]):
        raise UserError(f"dataset={config.dataset.name} draws its samples at every node, so it has no partition.")
    check_data(config)
    arrays = load_arrays(config)
    show(console, class_counts(arrays, shards(config, config.seed)), kind_of(arrays))
    console.print(
        f"heterogeneity ζ² at the initial point: {zeta(config):.4g}   (model={config.model.name}, seed={config.seed})"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
