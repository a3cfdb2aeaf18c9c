"""The parts of REPRODUCTION.md that are specific to the paper: its head, its coverage, and the runs of its figures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from analysis.claims.sets import ClaimSet
from analysis.claims.verdicts import Verdict
from analysis.report.claims import in_cell
from analysis.results.results import Results
from reproduction.graph_effect import graph_effect_table
from reproduction.study import PAPER

CLAIMS = Path(__file__).parent / "claims"
HEAD = """# Reproduction of the D-NASA paper

hearsay tests the claims of *Problem-Parameter-Free Decentralized Nonconvex Stochastic Optimization* (Li, Chen, Ma,
Hong). `python analysis/check_claims.py` computes every number and verdict here from stored runs, except for numbers in
the notes. [reproduction/README.md](reproduction/README.md) interprets the verdicts.

## How to check a number

This command computes one claim again, from the archived runs in this repository:

```bash
python analysis/check_claims.py --results reproduction/archive --claim spike_lower
```

| part of a claim | where |
|---|---|
| statistic and bound | [claims.yaml](reproduction/claims/claims.yaml), [code](reproduction/evidence) |
| runs behind a number | `analysis.load("reproduction/archive")` in Python: one row per run and evaluation |
| settings of these runs | [reproduction/conf/experiment](reproduction/conf/experiment) |
| new runs | the commands of the claim; `device=cuda` makes them faster |
| new runs of all experiments at a small size | `make paper-quick` |
| all claims again, from the archive | `make reproduction`, which writes this page and all others (90 seconds) |
"""
FULL_DATA = ("stepsize", "topology", "curves", "consensus")
"""Figures of the paper, which use all training samples."""


def coverage() -> list[dict[str, Any]]:
    """Every ``claim`` of the paper, its ``place``, the claims that cover it (``by``) and reasons (``why``)."""
    entries = yaml.safe_load((CLAIMS / "coverage.yaml").read_text(encoding="utf-8"))
    return [{"by": [], "why": "", **entry} for entry in entries]


def coverage_table(verdicts: list[Verdict]) -> Iterator[str]:
    """Every claim of the paper with its verdicts, or the reason for having none."""
    words = {verdict.claim.id: verdict.word for verdict in verdicts}
    claims = coverage()
    yield "## Coverage of the paper"
    yield ""
    yield f"The paper makes {len(claims)} claims. {sum(bool(one['by']) for one in claims)} of them have a verdict here."
    yield ""
    yield "| | claim | place | verdicts, or reason for having none |"
    yield "|---|---|---|---|"
    for number, one in enumerate(claims, 1):
        links = "; ".join(f"[{name}](#{name}): {words[name]}" for name in one["by"])
        why = f"{links}{'. ' if links and one['why'] else ''}{one['why']}"
        yield f"| {number} | {in_cell(one['claim'])} | {one['place']} | {in_cell(why)} |"
    yield ""


def runs_of(figure: str, results: Results) -> Results:
    """The runs of a figure."""
    runs = results.runs
    if figure not in FULL_DATA or "validation" not in runs:
        return results
    return replace(results, runs=runs[runs["validation"] == 0])


def sections(verdicts: list[Verdict], results: Results) -> Iterator[str]:
    """The coverage of the paper, and the effect of the graph."""
    yield from coverage_table(verdicts)
    yield from graph_effect_table(verdicts, results)


SET = ClaimSet(
    CLAIMS / "claims.yaml",
    "REPRODUCTION.md",
    HEAD,
    PAPER,
    ("robustness", "variants", "final"),
    sections,
    runs_of,
)
