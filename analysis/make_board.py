"""Make the board from stored runs: targets, gate, choose, score or page.

targets freezes the losses to reach, gate says whether the graph is felt,
choose writes the chosen settings, score the tables of the report seeds in the
folder results of the version, page one HTML file. The quick size keeps its
files in the results folder.

Examples:
  python analysis/make_board.py targets --results results
  python analysis/make_board.py choose --size quick
  python analysis/make_board.py score
  python analysis/make_board.py page --results results --out board.html
"""

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    from bench.terminal.command import begin

    begin()

from analysis.board.study import Study
from analysis.results.errors import in_sentences
from analysis.results.read import add_source, read
from bench.base.board import BOARD
from bench.base.board_file import SIZES
from bench.base.errors import UserError
from bench.base.home import expanded
from bench.base.submissions import ARCHIVE
from bench.store.files import write_text
from bench.store.regular import no_link
from bench.terminal.command import say

PARTS = ("targets", "gate", "choose", "score", "page")


def usual_results(board: Path, size: str) -> str:
    """Return the archive of the version if it has one; otherwise the results folder of runs."""
    archive = board / ARCHIVE
    return str(archive) if size == "full" and archive.is_dir() else "results"


@in_sentences("There is no board")
def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=PARTS, metavar="PART", help=", ".join(PARTS))
    add_source(parser, None, "the folder runs of the version if it exists, otherwise results")
    parser.add_argument("--board", type=Path, default=BOARD, metavar="FOLDER", help="version of the board")
    parser.add_argument("--size", choices=SIZES, default="full", help="quick: 8 methods on 2 workloads")
    parser.add_argument("--out", type=Path, metavar="PATH", help="folder of the tables, or HTML file of the page")
    about = "include board/submissions/NAME; choose writes its settings there"
    parser.add_argument("--submission", metavar="NAME", help=about)
    given = parser.parse_args(argv)
    given.results = given.results or usual_results(given.board, given.size)
    if given.size == "quick" and given.results.startswith("wandb:"):
        raise UserError(
            f"--size quick keeps its files in the results folder, but --results {given.results} is a W&B project. Type "
            f"python analysis/archive.py {shlex.quote(given.results)} FOLDER, and use --results FOLDER."
        )
    home = given.board if given.size == "full" else expanded(given.results)
    submission = given.board.parent / "submissions" / given.submission if given.submission else None
    study = Study(read(given.results, given.without), given.board, home, given.size, submission)
    home = submission if submission and given.part == "choose" else home
    for sentence in study.warnings:
        say(sentence, sys.stdout)
    tables = no_link(home / "results") if given.part == "score" and given.size == "full" else home
    if given.part == "page":
        from analysis.board.page import page  # needs jinja2

        files = {given.out or home / "board.html": page(study)}
    else:
        files = {(given.out or tables) / name: text for name, text in study.files(given.part).items()}
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)
        say(f"Written: {path}", sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
