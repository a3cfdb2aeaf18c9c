"""Read results from a results folder, an archive or a W&B project."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from analysis.results.archive import is_archive, read_archive
from analysis.results.errors import NoData
from analysis.results.folder import load_folder
from analysis.results.results import Results
from bench.base.home import expanded
from bench.clock import network_names

METRIC = "metric to show; repeat the option for several (default: the usual ones of each figure and table)"
REFERENCE = "method that the others are compared with (default: one that is not tuned, else the best on most problems)"
TUNE_BY = "metric that chooses the best settings (default: validation accuracy or loss, else test accuracy or loss)"
"""The help of options that several commands have."""
Condition = tuple[str, list[str]]
"""A name and the accepted values."""


def condition(word: str) -> Condition:
    """Parse NAME=VALUE,VALUE."""
    name, equals, values = word.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"must be NAME=VALUE, got {word!r}")
    return name, values.split(",")


def add_source(parser: argparse.ArgumentParser, default: str | None = "results", about: str = "results") -> None:
    """Add the options of every command that reads results; ``about`` names the default."""
    parser.add_argument(
        "--results",
        "--from",
        default=default,
        metavar="SOURCE",
        help=f"results folder, archive, or wandb:ENTITY/PROJECT (default: {about})",
    )
    parser.add_argument(
        "--without",
        nargs="+",
        action="extend",
        default=[],
        type=condition,
        metavar="NAME=VERSION,VERSION",
        help="skip runs made with these versions, such as core=HASH or torch=2.12.0 (default: none)",
    )


def add_network(parser: argparse.ArgumentParser, about: str) -> None:
    """Add the option of commands that compute seconds on networks."""
    names = f"{', '.join(network_names())}, or a .yaml or .csv file"
    kinds = f"{about} (default: none). Networks: {names}"
    parser.add_argument("--network", nargs="+", action="extend", default=[], metavar="NAME", help=kinds)


def read(source: str | Path, without: Sequence[Condition] = ()) -> Results:
    """Return the runs of a source, except those made with the versions in ``without``."""
    pd.options.mode.string_storage = "python"  # Arrow's texts make the many small tables a third slower
    results = _read(source)
    if not without:
        return results
    left = results.without(without)
    if left.runs.empty:
        words = " ".join(f"{name}={','.join(versions)}" for name, versions in without)
        raise NoData(f"--without {words} excludes all of the {len(results.runs)} runs")
    return left


def _read(source: str | Path) -> Results:
    if str(source).startswith("wandb:"):
        from analysis.results.from_wandb import load_wandb  # W&B takes a second to import

        return load_wandb(str(source).removeprefix("wandb:"))
    path = expanded(source)
    if not path.exists():
        raise NoData(f"folder '{path}' does not exist" + (f" in {Path.cwd()}" if not path.is_absolute() else ""))
    if is_archive(path):
        return read_archive(path)
    if path.name == "runs" and path.is_dir():
        raise NoData(f"{path} is the folder 'runs' of a results folder; use --results {path.parent}")
    if not (path / "runs").is_dir():
        raise NoData(f"{path} holds no runs: it has no folder 'runs'")
    results = load_folder(path)
    if results.runs.empty:
        raise NoData(f"{path} holds no run that can be read")
    return results
