"""What a method declares of itself, and whether its code keeps it."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

from analysis.claims.evidence import Case, evidence, exact
from analysis.claims.evidence.settings import label
from analysis.results.results import Results
from bench.base.home import ROOT


@evidence
def differences_from_table_1(results: Results, expected: dict[str, dict[str, list[str]]]) -> list[Case]:
    """How many entries of the paper's Table 1 differ from the method's own declaration."""
    out = []
    for algo, row in expected.items():
        mine = results.runs[results.runs["algo"] == algo]
        declared = next(
            (results.facts[run]["algorithm"] for run in mine["run_id"] if results.facts.get(run, {}).get("algorithm")),
            None,
        )
        if declared:
            differ = sum(set(row[word]) ^ set(declared[word]) != set() for word in ("needs", "assumes"))
            out.append(exact(label(algo), float(differ), len(mine)))
    return out


@evidence
def broken_promises(results: Results, algos: list[str]) -> list[Case]:
    """Promises that a method's code breaks now: python bench/contract.py runs every check on it."""
    out = []
    for algo in algos:
        done = subprocess.run(
            [sys.executable, "bench/contract.py", algo], cwd=ROOT, capture_output=True, text=True, timeout=300
        )
        kept = done.stdout.count("  kept  ") + done.stdout.count("  –  ")  # what is not declared is not broken
        broken = done.stdout.count("  BROKEN  ")
        known = done.returncode in (0, 1) and kept + broken > 0
        out.append(exact(f"{label(algo)}, {kept + broken} checks", float(broken) if known else np.nan, kept + broken))
    return out
