"""The stored curves that the pages of methods show: every method on one small problem.

``python docs/curves.py`` computes them again. Each curve has the run_id of its run, so that a test finds old ones.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path

from bench.base.registry import algorithms
from bench.config.plan import of_command
from bench.config.run_config import RunConfig
from bench.methods import example
from bench.sweep.preflight import checked
from bench.sweep.sweep import run_sweep
from bench.terminal.console import Console
from hearsay_site.sources import ROOT

FILE = ROOT / "docs/curves.csv"
METRICS = ("grad_norm", "consensus")
HEAD = ("method", "run_id", "step", *METRICS)
PROBLEM = ("dataset=quadratics", "steps=400", "eval_every=10", "dtype=float64")
Curve = list[tuple[int, float, float]]
"""Steps, with the gradient norm at the average iterate and the consensus error."""


def words(name: str) -> list[str]:
    """Return the settings of the run of one method."""
    cls = algorithms[name]
    usual = [word for word in example(cls).split()[2:] if not word.startswith(("dataset=", "dtype="))]
    engine = "events" if cls.declare_for({}).asynchronous else "stacked"
    return [*usual, *PROBLEM, f"engine={engine}"]


def config_of(name: str, results: Path) -> RunConfig:
    (config,) = of_command([*words(name), "tracker=none", f"results={results}", "jobs=1"], checked, several=False)
    return config


def compute(names: list[str], results: Path) -> dict[str, tuple[str, Curve]]:
    """Run the methods, and return the run_id and the curve of each."""
    from analysis import load

    configs = [config_of(name, results) for name in names]
    run_sweep(configs, Console(file=io.StringIO()))
    table = load(results)
    found = {}
    for name, config in zip(names, configs, strict=True):
        rows = table[table["run_id"] == config.run_id].sort_values("step")
        found[name] = (config.run_id, list(rows[["step", *METRICS]].itertuples(index=False, name=None)))
    return found


def store(curves: dict[str, tuple[str, Curve]]) -> None:
    """Write the file: one line per method, with the values of a column separated by spaces."""
    lines = [",".join(HEAD)]
    for name, (run_id, curve) in sorted(curves.items()):
        steps, *values = zip(*curve, strict=True)
        columns = [" ".join(map(str, steps)), *(" ".join(f"{value:.3g}" for value in column) for column in values)]
        lines.append(",".join([name, run_id, *columns]))
    FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def stored() -> dict[str, tuple[str, Curve]]:
    """Return the stored run_ids and curves by method."""
    with FILE.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    return {row["method"]: (row["run_id"], curve_of(row)) for row in rows}


def curve_of(row: dict[str, str]) -> Curve:
    steps, *values = (row[column].split() for column in HEAD[2:])
    return [(int(step), float(a), float(b)) for step, a, b in zip(steps, *values, strict=True)]
