"""Check claims against results, and write the verdicts into a document.

The claims are those that plug-ins register (such as the claims of the paper),
or those of your own YAML file.

Examples:
  python analysis/check_claims.py --results reproduction/archive
  python analysis/check_claims.py --claim spike_lower
  python analysis/check_claims.py --claims mine.yaml
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    from bench.terminal.command import begin

    begin()

from rich.table import Table

from analysis.claims.sets import claim_sets
from analysis.claims.verdicts import Verdict, claims, judge
from analysis.drawing.style import use_paper_style
from analysis.report.claim_pages import Places, claim_pages, summary
from analysis.report.claims import case_columns, case_rows, case_table, document
from analysis.results.errors import NoData, in_sentences, perhaps
from analysis.results.plugins import broken
from analysis.results.read import add_source, read
from analysis.results.warnings import warnings
from bench.store.files import write_text
from bench.store.regular import no_link
from bench.terminal.command import say
from bench.terminal.console import Console
from bench.terminal.visible import visible

HELP = ("-h", "--help")
NONE = (
    "no plug-in registers claims. Install the plug-in 'reproduction' with pip install -e . in a clone of the suite, or "
    "add --claims FILE"
)


@in_sentences("Nothing to check")
def main(argv: Sequence[str] | None = None) -> int:
    look = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=look, allow_abbrev=False)
    add = parser.add_argument
    add("--claims", type=Path, metavar="FILE", help="YAML file with claims (default: those of plug-ins)")
    add_source(parser)
    words = sys.argv[1:] if argv is None else argv
    first, _ = parser.parse_known_args([word for word in words if word not in HELP])  # for the names of the claims
    sets = [(one, claims(one.file)) for one in claim_sets(first.claims, first.results)]
    known = {claim.id: claim for _, some in sets for claim in some}
    about = "check only this claim and write no document; repeat the option for several (default: all)"
    add("--claim", action="append", metavar="ID", help=f"{about}. Claims: {', '.join(known)}")
    about = "document to write (default: in the results folder, under its own name; mine.md for mine.yaml)"
    add("--out", type=Path, metavar="FILE", help=about)
    about = "folder for one page per claim; the document then is a summary (default: one document with all claims)"
    add("--pages", type=Path, metavar="FOLDER", help=about)
    add("--figures", type=Path, metavar="FOLDER", help="folder for its figures (default: <results>/figures)")
    arguments = parser.parse_args(argv)
    if wrong := [name for name in arguments.claim or [] if name not in known]:
        parser.error(f"unknown claim {wrong[0]!r}{perhaps(wrong[0], known)}; known: {', '.join(known)}")
    if not sets:
        raise NoData(NONE + "".join(f"; plug-in '{name}' cannot be imported: {why}" for name, why in broken.items()))
    if (arguments.out or arguments.pages) and len(sets) > 1:
        files, option = ", ".join(str(one.file) for one, _ in sets), "--out" if arguments.out else "--pages"
        parser.error(f"{option} needs a single set of claims; add --claims with one of {files}")
    results, console = read(arguments.results, arguments.without), Console()
    for sentence in warnings(results):
        say(sentence, sys.stdout)
    folder = Path(arguments.results) if Path(arguments.results).is_dir() else Path()
    use_paper_style()
    failed = False
    for one, some in sets:
        verdicts = [judge(claim, results) for claim in some if claim.id in (arguments.claim or known)]
        for verdict in verdicts:
            show(verdict, console)
        failed |= any(verdict.trouble for verdict in verdicts)
        if arguments.claim:
            continue
        out = arguments.out or folder / one.document
        out.parent.mkdir(parents=True, exist_ok=True)
        pictures = arguments.figures or no_link(folder / "figures")
        if arguments.pages:
            places = Places(out, arguments.pages, pictures, arguments.results)
            pages = claim_pages(one, verdicts, results, places)
            arguments.pages.mkdir(parents=True, exist_ok=True)
            for name, text in pages.items():
                write_text(arguments.pages / f"{name}.md", text)
            write_text(out, summary(one, verdicts, results, pages, places))
        else:
            write_text(out, document(one, verdicts, results, pictures, Path(os.path.relpath(pictures, out.parent))))
        print(f"Written to {out}")
    return int(failed)


def show(verdict: Verdict, console: Console) -> None:
    """Print the verdict and its cases, as a table on a terminal, else as Markdown."""
    claim = verdict.claim
    bound = [f"  {claim.unit}; to hold: {claim.bound}, because {claim.because}"] if verdict.cases else []
    lines = [f"{claim.id}: {verdict.sentence}", f"  {claim.claim}", *bound]
    if not console.is_terminal:
        print(visible("\n".join([*lines, *(f"  {line}" for line in case_table(verdict))])))
        return
    say("\n".join(lines), sys.stdout, indent=2)
    if verdict.cases:
        table, rows = Table(), list(case_rows(verdict))
        words = [*(word for row in rows for word in row[3].split("; ")), *case_columns(verdict)[3].split()]
        widths = (None, min(NUMBER, max(len(row[1]) for row in rows)), None, max(map(len, words)))
        for name, width in zip(case_columns(verdict), widths, strict=True):
            table.add_column(name, width=width, overflow="fold")
        for row in rows:
            table.add_row(*row)
        console.print(table)
    console.print()


NUMBER = 28
"""Width of the column of numbers in characters. Its heading, which may be long, takes several lines."""


if __name__ == "__main__":
    sys.exit(main())
