"""Is the graph felt? By experiment: how far tuned D-SGD is from where it ends on the complete graph."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from analysis.claims.verdicts import Verdict
from analysis.results.results import Results
from analysis.tables.format import in_cell
from reproduction.evidence.graph_effect import beside_the_complete_graph

ASKED = {"training loss": ("felt", "felt_even"), "test accuracy": ("felt_accuracy", "felt_even_accuracy")}
"""By what it is asked, and the claims that do: of data divided by labels, and divided evenly."""


def experiments() -> list[dict[str, Any]]:
    """Of every experiment its ``problems`` that have an answer, or ``why`` none has, from graph_effect.yaml."""
    return yaml.safe_load(Path(__file__).with_name("claims").joinpath("graph_effect.yaml").read_text(encoding="utf-8"))


def graph_effect_table(judged: list[Verdict], results: Results) -> Iterator[str]:
    """A row for every problem with an answer, a line for every experiment without; nothing where none was run."""
    found = {by: [one for one in judged if one.claim.id in names and one.cases] for by, names in ASKED.items()}
    found = {by: some for by, some in found.items() if some}
    if not found:
        return
    cells = {by: _cells(some, results) for by, some in found.items()}
    told = experiments()
    where: dict[str, list[str]] = {}
    for one in told:
        for problem in one.get("problems", ()):
            where.setdefault(problem, []).append(one["experiment"])
    heads = [f"[{by}](#{some[0].claim.id})" for by, some in found.items()]
    yield "## Is the graph felt?"
    yield ""
    yield (
        "How much worse tuned D-SGD ends than on the complete graph, in standard deviations over seeds, by experiment; "
        "negative: better. It is *felt* where the interval of the paired difference says so, all problems of a column "
        "that are divided alike together at 95 %, and *not settled* where the interval reaches across: that is no "
        "proof that it is not felt. It is *not felt* where the interval lies on the other side, or has no width "
        "because every seed ends as on the complete graph. "
        f"{' '.join(_count(by, some) for by, some in found.items())}"
    )
    yield ""
    yield f"| problem and graph | experiments | {' | '.join(heads)} |"
    yield f"|---|---|{'---|' * len(heads)}"
    for problem in sorted({name for some in cells.values() for name in some}):
        numbers = " | ".join(some.get(problem, "—") for some in cells.values())
        yield f"| {in_cell(problem)} | {', '.join(where.get(problem, ['—']))} | {numbers} |"
    yield ""
    yield "Experiments without an answer:"
    yield ""
    yield from (f"- {one['experiment']}: {one['why']}" for one in told if "why" in one)
    yield ""


def _cells(judged: list[Verdict], results: Results) -> dict[str, str]:
    """By problem: +5.2, felt"""
    words = [
        pair for one in judged for pair in ((one.kept, "felt"), (one.broken, "not felt"), (one.open, "not settled"))
    ]
    said = {case.name: word for cases, word in words for case in cases}
    found = beside_the_complete_graph(results, (judged[0].claim.parameters or {})["metric"])
    return {one.setting: f"{one.told}, {said[one.name]}" for one in found if one.name in said}


def _count(by: str, judged: list[Verdict]) -> str:
    """By training loss it is felt on 4 of 11 problems."""
    kept, cases = sum(len(one.kept) for one in judged), sum(len(one.cases) for one in judged)
    return f"By {by} it is felt on {kept} of {cases} problems."
