"""REPRODUCTION.md: every claim with its verdict, its numbers, its figure and the commands behind them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from analysis.claims.evidence import Case, known
from analysis.claims.verdicts import FAILS, HOLDS, ONLY, UNTESTED, Verdict
from analysis.drawing.files import save
from analysis.drawing.panels import Picture
from analysis.figures import drawings
from analysis.report.story import facts
from analysis.results.errors import NoData
from analysis.results.results import Results
from analysis.results.warnings import warnings
from analysis.study.ask import PAPER
from analysis.tables import format as words
from analysis.tables import table_makers


def document(verdicts: list[Verdict], results: Results, pictures: Path, link: Path) -> str:
    """The whole text; the figures it shows are drawn into ``pictures`` and linked to by ``link``."""
    shown = {verdict.claim.figure for verdict in verdicts if verdict.claim.figure}
    drawn = {
        name: picture
        for name in drawings()
        if name in shown and (picture := _draw(name, results, pictures)) is not None
    }
    parts = [HEAD, *_what_was_run(results), "## Verdicts", "", *_overview(verdicts), ""]
    seen: set[str] = set()
    for verdict in verdicts:
        figure = verdict.claim.figure if verdict.claim.figure not in seen else None
        parts += [*_claim(verdict, results), *(_figure(figure, drawn, link) if figure in drawn else []), ""]
        seen |= {figure} if figure else set()
    for name in ("robustness", "variants", "final"):
        parts += _table(name, results)
    return "\n".join(parts).rstrip() + "\n"


HEAD = """# The paper, reproduced

*Problem-Parameter-Free Decentralized Nonconvex Stochastic Optimization* (Li, Chen, Ma, Hong), claim by claim. This
page is written by `python analysis/check_claims.py`: no number and no verdict in it was typed. The claims, their
statistics and bounds are data, in [claims.yaml](analysis/claims/claims.yaml). A verdict is **holds** where every
case keeps the bound, **holds only if** where some do, **does not hold** where none does, **not tested here** where the
runs are missing. An estimate decides; where its 95 % interval reaches across the bound, the case is *not settled*.

To any number here with one command, from this repository alone:

```bash
python analysis/check_claims.py --results docs/reproduction --claim spike_lower
```

and from nothing, with the commands that stand below each claim (`device=cuda` makes them faster; what they run is in
[conf/experiment](conf/experiment)). `make paper-quick` runs a small size of everything.
"""


def _what_was_run(results: Results) -> Iterator[str]:
    yield "## What was run"
    yield ""
    for name, text in facts(results):
        yield f"- {name}: {text}"
    yield from (f"- {sentence}" for sentence in warnings(results))
    yield ""


def _overview(verdicts: list[Verdict]) -> Iterator[str]:
    counts = {word: sum(verdict.word == word for verdict in verdicts) for word in (HOLDS, ONLY, FAILS, UNTESTED)}
    yield f"{len(verdicts)} claims: " + ", ".join(f"{count} {word}" for word, count in counts.items() if count) + "."
    yield ""
    yield "| claim | verdict |"
    yield "|---|---|"
    for verdict in verdicts:
        yield f"| [{verdict.claim.claim.replace('|', chr(92) + '|')}](#{verdict.claim.id}) | **{verdict.sentence}** |"


def _claim(verdict: Verdict, results: Results) -> Iterator[str]:
    claim = verdict.claim
    yield f'### <a id="{claim.id}"></a>{claim.claim}'
    yield ""
    yield f"**{verdict.sentence[0].upper()}{verdict.sentence[1:]}.** ({claim.source})"
    yield ""
    statistic = " ".join((known()[claim.evidence].__doc__ or "").split())
    yield f"{statistic} To hold: {claim.bound}, because {claim.because}."
    yield ""
    if claim.note:
        yield claim.note
        yield ""
    lines = list(case_table(verdict))
    if lines:
        yield "\n".join(lines)
        yield ""
    yield "```bash"
    yield from claim.commands
    yield f"python analysis/check_claims.py --claim {claim.id}"
    yield "```"


def case_table(verdict: Verdict) -> Iterator[str]:
    """Every case with its number and whether it keeps the bound."""
    cases = [*verdict.kept, *verdict.broken]
    if not cases:
        return
    yield f"| case | {verdict.claim.unit} | runs | keeps the bound |"
    yield "|---|---|---|---|"
    for case in cases:
        kept = ("yes" if case in verdict.kept else "no") + ("" if verdict.settled(case) else ", not settled")
        yield f"| {case.name} | {number(case)} | {case.runs or '—'} | {kept} |"


def number(case: Case) -> str:
    found = case.found
    if math.isnan(found.value):
        return "none: a run diverged"
    if math.isinf(found.value):
        return "diverged"
    if math.isfinite(found.low):
        return f"{found.value:.3g} [{found.low:.3g}, {found.high:.3g}]"
    return f"{found.value:.3g}"


def _draw(name: str, results: Results, folder: Path) -> Picture | None:
    try:
        picture = drawings()[name].draw(results, PAPER)
    except NoData:
        return None
    save(picture.figure, folder, name, ["png"])
    return picture


def _figure(name: str | None, drawn: dict[str, Picture], link: Path) -> Iterator[str]:
    if name is not None:
        title = drawn[name].title or drawings()[name].title
        yield ""
        yield f"![{title}]({(link / name).as_posix()}.png)"
        yield ""
        yield f"*{title}.* {' '.join(f'{note[0].upper()}{note[1:]}.' for note in drawn[name].notes)}"


def _table(name: str, results: Results) -> Iterator[str]:
    recipe = table_makers()[name]
    try:
        yield words.markdown(recipe.make(results, PAPER), recipe.title)
    except NoData:
        return
