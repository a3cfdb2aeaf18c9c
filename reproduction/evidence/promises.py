"""What a method declares of itself, and whether its code keeps it."""

from __future__ import annotations

import subprocess
import sys

from analysis.claims.evidence import Case, evidence, exact
from analysis.results.results import Results
from bench.base.errors import UserError
from bench.base.home import ROOT
from reproduction.evidence.settings import label


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
    tried = _tried(algos)
    return [exact(f"{label(algo)}, {checks} checks", float(broken), checks) for algo, (checks, broken) in tried.items()]


def _tried(algos: list[str], script: str = "bench/contract.py") -> dict[str, tuple[int, int]]:
    """How many promises of each were checked, and how many of them are broken; a script that could not check raises."""
    words = [script, *algos]
    done = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True, timeout=600)
    said: dict[str, list[str]] = {algo: [] for algo in algos}
    mine: list[str] = []
    for line in done.stdout.splitlines():
        mine = said.get(line, mine)
        mine.append(line)
    out = {}
    for algo, lines in said.items():
        broken = sum(line.startswith("  FAIL  ") for line in lines)
        kept = sum(line.startswith(("  PASS  ", "  SKIP  ")) for line in lines)  # what is not declared is not broken
        out[algo] = (kept + broken, broken)
    checks, broken = (sum(each) for each in zip(*out.values(), strict=True))
    if not all(count for count, _ in out.values()) or done.returncode != (1 if broken else 0):
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise UserError(
            f"python {' '.join(words)} ended with {done.returncode} after {checks} checks, of which {broken} are "
            f"broken; one check or more of each, and {1 if broken else 0}, were expected: {last}. "
            "Run it by itself, and this again when it ends well."
        )
    return out
