"""What is the paper's own in REPRODUCTION.md: its head, what it covers, and the runs of its figures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from analysis.claims.sets import ClaimSet
from analysis.claims.verdicts import Verdict
from analysis.report.claims import in_cell
from analysis.results.results import Results
from reproduction.graph_effect import graph_effect_table
from reproduction.study import PAPER

CLAIMS = Path(__file__).parent / "claims"
HEAD = """# The paper, reproduced

*Problem-Parameter-Free Decentralized Nonconvex Stochastic Optimization* (Li, Chen, Ma, Hong), claim by claim. This
page is written by `python analysis/check_claims.py`: no number and no verdict in it was typed, but for what a note
says. The claims, their statistics and bounds are data, in [claims.yaml](reproduction/claims/claims.yaml). To any number
here with one command, from this repository alone:

```bash
python analysis/check_claims.py --results reproduction/archive --claim spike_lower
```

and from nothing, with the commands that stand below each claim (`device=cuda` makes them faster; what they run is in
[reproduction/conf/experiment](reproduction/conf/experiment)). `make paper-quick` runs a small size of everything.
"""


@dataclass(frozen=True)
class Told:
    """A claim of the paper, and which of ours covers it, or why none does."""

    claim: str
    place: str
    by: tuple[str, ...] = ()
    why: str = ""


def coverage() -> list[Told]:
    """Everything that the paper claims, from coverage.yaml."""
    table = yaml.safe_load((CLAIMS / "coverage.yaml").read_text(encoding="utf-8"))
    return [Told(**{**entry, "by": tuple(entry.get("by", ()))}) for entry in table]


def coverage_table(verdicts: list[Verdict]) -> Iterator[str]:
    """All that the paper claims: the verdict, or why there is none."""
    words = {verdict.claim.id: verdict.word for verdict in verdicts}
    told = coverage()
    covered = sum(bool(one.by) for one in told)
    yield "## What the paper claims, and what is covered"
    yield ""
    yield f"{len(told)} claims, of which {covered} have a verdict here."
    yield ""
    yield "| | claim | where | verdicts, or why there is none |"
    yield "|---|---|---|---|"
    for number, one in enumerate(told, 1):
        links = "; ".join(f"[{name}](#{name}): {words[name]}" for name in one.by)
        why = f"{links}{'. ' if links and one.why else ''}{one.why}"
        yield f"| {number} | {in_cell(one.claim)} | {one.place} | {in_cell(why)} |"
    yield ""


ITS_OWN = ("stepsize", "topology", "curves", "consensus")
"""Figures of the paper, drawn from runs as the paper has them: with all training samples."""


def runs_of(figure: str, results: Results) -> Results:
    """The runs of a figure."""
    runs = results.runs
    if figure not in ITS_OWN or "validation" not in runs:
        return results
    return replace(results, runs=runs[runs["validation"] == 0])


def sections(verdicts: list[Verdict], results: Results) -> Iterator[str]:
    """What the paper claims and what is covered, and where the graph is felt."""
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
