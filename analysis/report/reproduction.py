"""REPRODUCTION.md: every claim with its verdict, its numbers, its figure and the commands behind them."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from analysis.claims.evidence import Case, known
from analysis.claims.verdicts import KINDS, WORDS, Verdict, coverage
from analysis.drawing.files import save
from analysis.drawing.panels import Picture
from analysis.figures import drawings
from analysis.report.commands import as_typed
from analysis.report.felt import felt_table
from analysis.report.story import facts
from analysis.results.errors import NoData
from analysis.results.results import Results
from analysis.results.warnings import warnings
from analysis.study.ask import PAPER
from analysis.tables import format as words
from analysis.tables import table_makers


def document(verdicts: list[Verdict], results: Results, pictures: Path, link: Path, own: Path | None = None) -> str:
    """The whole text; the figures it shows are drawn into ``pictures`` and linked to by ``link``. ``own`` is a file of
    claims in the place of the paper's."""
    shown = {verdict.claim.figure for verdict in verdicts if verdict.claim.figure}
    drawn = {
        name: picture
        for name in drawings()
        if name in shown and (picture := _draw(name, results, pictures)) is not None
    }
    head = (OWN_HEAD.format(file=own.name) if own else HEAD) + RULES
    sections = {"Claims": verdicts} if own else _by_kind(verdicts)
    parts = [head, *_what_was_run(results), *_overview(sections)]
    parts += [] if own else [*_coverage(verdicts), *felt_table(verdicts, results)]
    seen: set[str] = set()
    for title, some in sections.items():
        parts += [f"## {title}", ""]
        for verdict in some:
            figure = verdict.claim.figure if verdict.claim.figure not in seen else None
            parts += [
                *_claim(verdict, ["--results", results.source, "--claims", str(own)] if own else []),
                *(_figure(figure, drawn, link) if figure in drawn else []),
                "",
            ]
            seen |= {figure} if figure else set()
    for name in ("robustness", "variants", "final"):
        parts += _table(name, results)
    return "\n".join(parts).rstrip() + "\n"


HEAD = """# The paper, reproduced

*Problem-Parameter-Free Decentralized Nonconvex Stochastic Optimization* (Li, Chen, Ma, Hong), claim by claim. This
page is written by `python analysis/check_claims.py`: no number and no verdict in it was typed, but for what a note
says. The claims, their statistics and bounds are data, in [claims.yaml](analysis/claims/claims.yaml). To any number
here with one command, from this repository alone:

```bash
python analysis/check_claims.py --results docs/reproduction --claim spike_lower
```

and from nothing, with the commands that stand below each claim (`device=cuda` makes them faster; what they run is in
[conf/experiment](conf/experiment)). `make paper-quick` runs a small size of everything.

"""
OWN_HEAD = """# Claims, checked

The claims of {file}, one by one. This page is written by `python analysis/check_claims.py`: no number and no verdict
in it was typed.

"""
RULES = """\
A case **keeps** or **breaks** its bound where its whole interval lies on one side, and is **not settled** where it
reaches across. A claim **holds** where cases keep the bound and none breaks it, **holds only if** where some do and
some do not, **does not hold** where cases break it and none keeps it; it is **not settled** where more cases are not
than are, **not testable** where no run could tell. Intervals are Student's over seeds, at 95 % for all cases of a
claim together (Bonferroni), and none is given from fewer than five seeds. Over all claims nothing is corrected: of a
hundred claims whose truth lies on the bound, up to five would be settled by chance. The number of a tuned method is
from seeds that did not choose its stepsize. What had to be chosen stands below a claim as *our choice*. Cases that are
*not judged* stand beside a claim's own, with intervals that hold among themselves, and have no part in its verdict.
"""


def _by_kind(verdicts: list[Verdict]) -> dict[str, list[Verdict]]:
    found = {title: [one for one in verdicts if one.claim.kind == kind] for kind, title in KINDS.items()}
    return {title: some for title, some in found.items() if some}


def _what_was_run(results: Results) -> Iterator[str]:
    yield "## What was run"
    yield ""
    for name, text in facts(results):
        yield f"- {name}: {words.in_markdown(text)}"
    yield from (f"- {words.in_markdown(sentence)}" for sentence in warnings(results))
    yield ""


def _overview(sections: dict[str, list[Verdict]]) -> Iterator[str]:
    yield "## Verdicts"
    yield ""
    for title, mine in sections.items():
        counts = {word: sum(verdict.word == word for verdict in mine) for word in WORDS}
        told = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
        yield f"**{title}**: {told}."
        yield ""
        yield "| claim | verdict |"
        yield "|---|---|"
        for verdict in mine:
            yield f"| [{_in_cell(verdict.claim.claim)}](#{verdict.claim.id}) | **{words.in_cell(verdict.sentence)}** |"
        yield ""


def _coverage(verdicts: list[Verdict]) -> Iterator[str]:
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
        yield f"| {number} | {_in_cell(one.claim)} | {one.place} | {_in_cell(why)} |"
    yield ""


def _in_cell(text: str) -> str:
    return text.replace("|", chr(92) + "|")


def _claim(verdict: Verdict, where: Sequence[str] = ()) -> Iterator[str]:
    """``where`` are the words that a command needs to find claims of one's own."""
    claim = verdict.claim
    yield f'### <a id="{claim.id}"></a>{claim.claim}'
    yield ""
    sentence = words.in_markdown(verdict.sentence)
    yield f"**{sentence[0].upper()}{sentence[1:]}.** ({claim.source})"
    yield ""
    if claim.untestable:
        yield claim.untestable
        return
    statistic = " ".join((known()[claim.evidence].__doc__ or "").split())
    yield f"{statistic} To hold: {claim.bound}, because {claim.because}."
    yield ""
    for text in (f"*Our choice:* {claim.choices}" if claim.choices else None, claim.note):
        if text:
            yield text
            yield ""
    lines = list(case_table(verdict))
    if lines:
        yield "\n".join(lines)
        yield ""
    yield "```bash"
    yield from claim.commands
    command = ["python", "analysis/check_claims.py", *where, "--claim", claim.id]
    yield as_typed(command) if where else shlex.join(command)
    yield "```"


def case_table(verdict: Verdict) -> Iterator[str]:
    """Every case with its number and whether it keeps the bound."""
    if not verdict.cases:
        return
    yield f"| {' | '.join(case_columns(verdict))} |"
    yield "|---|---|---|---|"
    yield from (f"| {' | '.join(map(words.in_cell, row))} |" for row in case_rows(verdict))


def case_columns(verdict: Verdict) -> tuple[str, ...]:
    return "case", verdict.claim.unit, "runs", "keeps the bound"


def case_rows(verdict: Verdict) -> Iterator[tuple[str, ...]]:
    for case in [*verdict.cases, *verdict.beside]:
        judged = "; not judged" if any(case is one for one in verdict.beside) else ""
        yield case.name, number(case), str(case.runs or "—"), verdict.said(case) + judged


def number(case: Case) -> str:
    found = case.found
    if math.isnan(found.value):
        return "none: a run diverged, or never got there"
    if math.isinf(found.value):
        return "diverged"
    if not math.isfinite(found.low):
        return f"{found.value:.3g}"
    ends = (found.low, found.value, found.high)
    # three digits, and one or two more where these do not tell an end from the middle
    written = ([f"{end:.{digits}g}" for end in ends] for digits in (3, 4, 5))
    low, value, high = next((some for some in written if len(set(some)) == len(set(ends))), [f"{x:.5g}" for x in ends])
    same = ", the same at every seed" if case.each and found.low == found.high else ""
    return f"{value} [{low}, {high}]{same}"


ITS_OWN = ("stepsize", "topology", "curves", "consensus")
"""Figures of the paper, drawn from runs as the paper has them: with all training samples."""


def _draw(name: str, results: Results, folder: Path) -> Picture | None:
    try:
        picture = drawings()[name].draw(_undivided(results) if name in ITS_OWN else results, PAPER)
        save(picture.figure, folder, name, ["png"])
    except (NoData, ValueError, ArithmeticError, MemoryError):  # numbers that no axis has a place for
        return None
    return picture


def _undivided(results: Results) -> Results:
    runs = results.runs
    return replace(results, runs=runs[runs["validation"] == 0]) if "validation" in runs else results


def _figure(name: str | None, drawn: dict[str, Picture], link: Path) -> Iterator[str]:
    if name is not None:
        title = words.in_markdown(drawn[name].title or drawings()[name].title)
        notes = map(words.in_markdown, drawn[name].notes)
        yield ""
        yield f"![{title}]({(link / name).as_posix()}.png)"
        yield ""
        yield f"*{title}.* {' '.join(f'{note[0].upper()}{note[1:]}.' for note in notes)}"


def _table(name: str, results: Results) -> Iterator[str]:
    recipe = table_makers()[name]
    try:
        yield words.markdown(recipe.table(results, PAPER), recipe.title)
    except NoData:
        return
