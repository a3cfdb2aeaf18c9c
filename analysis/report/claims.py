"""The document of claims with verdicts, numbers, figures and commands."""

import math
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from analysis.claims.evidence import Case, known
from analysis.claims.sets import ClaimSet
from analysis.claims.verdicts import KINDS, WORDS, Verdict
from analysis.drawing.files import save
from analysis.drawing.panels import Picture
from analysis.figures import drawings
from analysis.report.caption import as_sentence
from analysis.report.commands import as_typed
from analysis.report.report_data import facts
from analysis.results.errors import NoData, trouble
from analysis.results.results import Results
from analysis.results.warnings import warnings
from analysis.tables import format as words
from analysis.tables import table_makers


def document(claims: ClaimSet, verdicts: list[Verdict], results: Results, pictures: Path, link: Path) -> str:
    """Return the document. Its figures are written to the folder ``pictures`` and linked as ``link``."""
    drawn = draw_figures(claims, verdicts, results, pictures)
    sections = by_kind(verdicts)
    parts = [claims.head, RULES, *what_was_run(results), *_overview(sections)]
    parts += claims.sections(verdicts, results)
    for title, some in sections.items():
        parts += [f"## {title}", ""]
        for verdict in some:
            name = verdict.claim.figure or ""
            picture = drawn.pop(name, None)  # a figure is shown once
            parts += [
                f'### <a id="{verdict.claim.id}"></a>{verdict.claim.claim}',
                "",
                *claim_lines(verdict, claims.words),
            ]
            parts += [*(figure_lines(name, picture, results, link) if picture else []), ""]
    for name in claims.tables:
        parts += table_lines(name, claims, results)
    return "\n".join(parts).rstrip() + "\n"


RULES = """\
## How verdicts are computed

Each claim has one or more cases, and a bound. Verdicts are computed:

| verdict | meaning |
|---|---|
| **holds** | at least one case keeps the bound, and none breaks it |
| **holds in part** | some cases keep the bound, and others break it |
| **does not hold** | at least one case breaks the bound, and none keeps it |
| **not settled** | most cases are not settled |
| **not testable** | no run can decide the claim |

- A case keeps or breaks its bound if its whole confidence interval lies on one side. Otherwise it is not settled.
- Intervals are Student's over seeds. They hold at 95 % for all cases of a claim together (Bonferroni). With fewer than
  five seeds there is no interval.
- There is no correction over all claims. Of a hundred claims whose truth lies on the bound, chance settles up to five.
- The result of a tuned method comes from seeds that did not choose its stepsize.
- *Our choice* below a claim names what the source does not specify.
- Cases marked *not judged* are shown for comparison. They have no part in the verdict.
"""


def by_kind(verdicts: list[Verdict]) -> dict[str, list[Verdict]]:
    """Return the verdicts by the title of their kind."""
    found = {title: [one for one in verdicts if one.claim.kind == kind] for kind, title in KINDS.items()}
    several = {title: some for title, some in found.items() if some}
    return several if len(several) > 1 else {"Claims": verdicts}


def what_was_run(results: Results) -> Iterator[str]:
    """Yield the section on the runs: their number, seeds, machines and versions."""
    yield "## Runs"
    yield ""
    for name, text in facts(results):
        yield f"- {name}: {words.in_markdown(text)}"
    yield from (f"- {words.in_markdown(sentence)}" for sentence in warnings(results))
    yield ""


def _overview(sections: dict[str, list[Verdict]]) -> Iterator[str]:
    yield "## Verdicts"
    yield ""
    for title, mine in sections.items():
        yield f"**{title}**: {counts(mine)}."
        yield ""
        yield "| claim | verdict |"
        yield "|---|---|"
        for verdict in mine:
            yield f"| [{in_cell(verdict.claim.claim)}](#{verdict.claim.id}) | **{words.in_cell(verdict.sentence)}** |"
        yield ""


def counts(verdicts: list[Verdict]) -> str:
    """Return the number of claims with each verdict, for example: 9 holds, 4 not settled."""
    found = {word: sum(verdict.word == word for verdict in verdicts) for word in WORDS}
    return ", ".join(f"{count} {word}" for word, count in found.items() if count)


def in_cell(text: str) -> str:
    return text.replace("|", chr(92) + "|")


def claim_lines(verdict: Verdict, where: Sequence[str] = ()) -> Iterator[str]:
    """Yield the text of a claim below its heading; ``where`` are the options with which a command finds the claims."""
    claim = verdict.claim
    sentence = words.in_markdown(verdict.sentence)
    yield f"**{sentence[0].upper()}{sentence[1:]}.** ({claim.source})"
    yield ""
    if claim.untestable:
        yield claim.untestable
        return
    statistic = " ".join((known()[claim.evidence].__doc__ or "").split())
    yield f"{statistic} To hold: {claim.bound}, because {claim.because}."
    yield ""
    for text in (claim.choices and f"*Our choice:* {claim.choices}", claim.note, "\n".join(case_table(verdict))):
        if text:
            yield text
            yield ""
    yield "```bash"
    yield from claim.commands
    command = ["python", "analysis/check_claims.py", *where, "--claim", claim.id]
    yield as_typed(command) if where else shlex.join(command)
    yield "```"


def case_table(verdict: Verdict) -> Iterator[str]:
    """Yield the lines of the Markdown table of all cases."""
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
        return "nonfinite"
    if not math.isfinite(found.low):
        return f"{found.value:.3g}"
    ends = (found.low, found.value, found.high)
    # three digits, and up to two more if the ends would look equal to the value
    written = ([f"{end:.{digits}g}" for end in ends] for digits in (3, 4, 5))
    low, value, high = next((some for some in written if len(set(some)) == len(set(ends))), [f"{x:.5g}" for x in ends])
    same = ", the same at every seed" if case.each and found.low == found.high else ""
    return f"{value} [{low}, {high}]{same}"


def draw_figures(
    claims: ClaimSet, verdicts: list[Verdict], results: Results, folder: Path
) -> dict[str, Picture | None]:
    """Draw the figures of all claims into a folder. A figure that the results do not allow is None."""
    shown = {verdict.claim.figure for verdict in verdicts if verdict.claim.figure}
    return {name: _draw(name, claims, results, folder) for name in drawings() if name in shown}


def _draw(name: str, claims: ClaimSet, results: Results, folder: Path) -> Picture | None:
    drawing = drawings()[name]
    try:
        picture = drawing.picture(claims.runs_of(name, results), claims.request)
        save(picture.figure, folder, name, ["png"])
    except (NoData, ValueError, ArithmeticError, MemoryError):  # values that Matplotlib cannot draw
        return None
    except Exception as error:  # a plug-in may raise anything, and odd runs may be in the folder
        print(f"The figure {name} is left out: {trouble(error, drawing.draw)}", file=sys.stderr)
        return None
    return picture


def figure_lines(name: str, picture: Picture, results: Results, link: Path) -> list[str]:
    """Return the lines of a figure and its caption."""
    title = words.in_markdown(picture.title or drawings()[name].title)
    notes = " ".join(f"{words.in_markdown(as_sentence(note, results.runs))}." for note in picture.notes)
    return ["", f"![{title}]({(link / name).as_posix()}.png)", "", f"*{title}.* {notes}"]


def table_lines(name: str, claims: ClaimSet, results: Results) -> Iterator[str]:
    """Yield a table with its heading; nothing if the results do not allow it."""
    recipe = table_makers()[name]
    try:
        yield words.markdown(recipe.table(results, claims.request), recipe.title)
    except NoData:
        return
    except Exception as error:  # as for figures
        print(f"The table {name} is left out: {trouble(error, recipe.make)}", file=sys.stderr)
