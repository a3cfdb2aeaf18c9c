"""Properties that a method declares, and the checks of its contract."""

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
    """Number of entries of the paper's Table 1 that differ from the declaration of the method."""
    out = []
    for algo, row in expected.items():
        runs = results.runs.loc[results.runs["algo"] == algo, "run_id"]
        declared = next(filter(None, (results.facts.get(run, {}).get("algorithm") for run in runs)), None)
        if declared:
            differ = sum(set(row[word]) != set(declared[word]) for word in ("needs", "assumes"))
            out.append(exact(label(algo), float(differ), len(runs)))
    return out


@evidence
def broken_promises(results: Results, algos: list[str]) -> list[Case]:
    """Number of failed contract checks of the current code: python bench/contract.py runs them all."""
    counts = contract_checks(algos).items()
    return [exact(f"{label(algo)}, {checks} checks", float(failed), checks) for algo, (checks, failed) in counts]


def contract_checks(algos: list[str], script: str = "bench/contract.py") -> dict[str, tuple[int, int]]:
    """The numbers of checks and of failed checks of each method; a UserError if the script did not run them."""
    words = [script, *algos]
    done = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True, timeout=600)
    counts: dict[str, tuple[int, int]] = dict.fromkeys(algos, (0, 0))
    algo = ""
    for line in done.stdout.splitlines():
        algo = line if line in counts else algo
        if algo and line.startswith(("  PASS  ", "  SKIP  ", "  FAIL  ")):  # skipped: the property is not declared
            checks, failed = counts[algo]
            counts[algo] = checks + 1, failed + line.startswith("  FAIL  ")
    checks, failed = (sum(each) for each in zip(*counts.values(), strict=True))
    expected = 1 if failed else 0
    if not all(count for count, _ in counts.values()) or done.returncode != expected:
        last = (done.stderr.strip().splitlines() or ["no error message"])[-1]
        raise UserError(
            f"python {' '.join(words)} exited with status {done.returncode} after {checks} checks, {failed} of them "
            f"failed. Expected: at least one check of each method, and status {expected}. Last line of its errors: "
            f"{last}. Run this command by itself, correct its error, and repeat."
        )
    return counts
