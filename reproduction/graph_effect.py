"""Effect of the graph, by experiment: final results of tuned D-SGD compared with those on the complete graph."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from analysis.claims.verdicts import Verdict
from analysis.results.results import Results
from analysis.tables.format import in_cell
from reproduction.evidence.graph_effect import beside_the_complete_graph

CLAIMS = {"training loss": ("felt", "felt_even"), "test accuracy": ("felt_accuracy", "felt_even_accuracy")}
"""By metric: the claims on data divided by labels and on data divided evenly."""


def experiments() -> list[dict[str, Any]]:
    """Every experiment with its comparable ``problems``, or the reason (``why``) for having none."""
    return yaml.safe_load(Path(__file__).with_name("claims").joinpath("graph_effect.yaml").read_text(encoding="utf-8"))


def graph_effect_table(verdicts: list[Verdict], results: Results) -> Iterator[str]:
    """A row for every comparable problem and a line for every other experiment; nothing without runs."""
    columns = {by: [one for one in verdicts if one.claim.id in names and one.cases] for by, names in CLAIMS.items()}
    columns = {by: judged for by, judged in columns.items() if judged}
    if not columns:
        return
    cells = {by: _cells(judged, results) for by, judged in columns.items()}
    listed = experiments()
    heads = [f"[{by}](#{judged[0].claim.id})" for by, judged in columns.items()]
    yield "## Effect of the graph"
    yield ""
    yield (
        "Each number is the difference between the final results of tuned D-SGD on the graph and on the complete graph "
        "in standard deviations over seeds. Positive numbers are worse than on the complete graph."
    )
    yield ""
    yield "- *effect*: the confidence interval of the paired difference shows a worse result."
    yield "- *not settled*: the interval contains zero. This does not prove that the graph has no effect."
    yield "- *no effect*: the interval excludes a worse result, or every seed ends as on the complete graph."
    yield (
        "- Intervals hold at 95 % for all problems of a column together, separately for data divided by labels and "
        "data divided evenly."
    )
    yield from (_count(by, judged) for by, judged in columns.items())
    yield ""
    yield f"| problem and graph | experiments | {' | '.join(heads)} |"
    yield f"|---|---|{'---|' * len(heads)}"
    for problem in sorted({name for column in cells.values() for name in column}):
        where = [one["experiment"] for one in listed if problem in one.get("problems", ())] or ["—"]
        numbers = " | ".join(column.get(problem, "—") for column in cells.values())
        yield f"| {in_cell(problem)} | {', '.join(where)} | {numbers} |"
    yield ""
    yield "Experiments without this comparison:"
    yield ""
    yield from (f"- {one['experiment']}: {one['why']}" for one in listed if "why" in one)
    yield ""


def _cells(judged: list[Verdict], results: Results) -> dict[str, str]:
    """By problem, for example: +5.2, effect."""
    words = {
        case.name: word
        for one in judged
        for cases, word in ((one.kept, "effect"), (one.broken, "no effect"), (one.open, "not settled"))
        for case in cases
    }
    pairs = beside_the_complete_graph(results, (judged[0].claim.parameters or {})["metric"])
    return {pair.setting: f"{pair.in_deviations}, {words[pair.name]}" for pair in pairs if pair.name in words}


def _count(by: str, judged: list[Verdict]) -> str:
    kept, cases = sum(len(one.kept) for one in judged), sum(len(one.cases) for one in judged)
    return f"- By {by}, the graph has an effect on {kept} of {cases} problems."
