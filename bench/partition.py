"""Look at a partition before using it: python bench/partition.py dataset=digits partition=dirichlet nodes=8

Samples and classes of every node, and the heterogeneity ζ² = (1/n) Σ ‖∇f_i − ∇f‖² at the start.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from bench.backend import prepare
from bench.build import build_problem, class_counts, is_problem, load_arrays, shards
from bench.check import check_data
from bench.compose import compose_one
from bench.config import RunConfig
from bench.metrics import heterogeneity
from bench.problem import Setting
from bench.registry import UserError, datasets, say_broken_plugins
from bench.world import OneProcess


def table(counts: np.ndarray) -> Table:
    """A line per node."""
    out = Table(
        "node",
        "samples",
        *(str(label) for label in range(counts.shape[1])),
        title="samples, and how many of each class",
    )
    for column in out.columns:
        column.justify = "right"
    for node, row in enumerate(counts):
        out.add_row(str(node), str(row.sum()), *map(str, row))
    return out


def zeta(config: RunConfig) -> float | None:
    """ζ² at the average start point."""
    dtype, device = getattr(torch, config.dtype), torch.device(config.device)
    setting = Setting(config.nodes, range(config.nodes), (config.seed,), config.batch_size, dtype, device)
    problem = build_problem(config, setting)
    world = OneProcess(config.nodes, lambda r, tensors: tensors)
    return heterogeneity(problem.start(), problem, world)[0]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("overrides", nargs="*", help="as for run.py: dataset=NAME partition=NAME nodes=N seed=S")
    arguments = parser.parse_args()
    console = Console(highlight=False)
    prepare()
    try:
        say_broken_plugins()
        config = compose_one(arguments.overrides)
        if is_problem(datasets[config.dataset.name]):
            raise UserError(f"dataset={config.dataset.name} is drawn at every node: there is nothing to divide.")
        check_data(config)
        console.print(table(class_counts(load_arrays(config), shards(config, config.seed))))
        console.print(f"ζ² at the start: {zeta(config):.4g}   (model={config.model.name}, seed={config.seed})")
        return 0
    except UserError as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
