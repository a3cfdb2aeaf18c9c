"""Make the report of a results folder: a page that opens from disk, or a W&B report.

python analysis/make_report.py                             results/report.html
python analysis/make_report.py --wandb ENTITY/PROJECT      the same story as a W&B report
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    from bench.terminal.command import begin

    begin()

from analysis.drawing.style import use_paper_style
from analysis.report.commands import as_typed
from analysis.report.page import page
from analysis.report.story import tell_story
from analysis.results.errors import in_sentences
from analysis.results.read import add_source, read
from analysis.study.ask import Ask
from analysis.study.select import can_be_asked
from bench.store.files import write_text
from bench.terminal.command import say


@in_sentences("There is nothing to report")
def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_source(parser)
    parser.add_argument("--out", type=Path, help="the page; default <results>/report.html")
    parser.add_argument("--wandb", metavar="ENTITY/PROJECT", help="also publish as a W&B report in this project")
    parser.add_argument("--metric", action="append", metavar="NAME", help="to show; may be given again")
    parser.add_argument("--reference", metavar="METHOD", help="that the other methods are compared with")
    parser.add_argument("--tune-by", metavar="NAME", help="the metric that best settings are chosen by")
    arguments = parser.parse_args(argv)
    if arguments.wandb and arguments.wandb.count("/") != 1:
        parser.error(f"--wandb takes ENTITY/PROJECT; got {arguments.wandb!r}")
    folder = Path(arguments.results) if Path(arguments.results).is_dir() else None
    out = arguments.out or (folder or Path()) / "report.html"
    use_paper_style()
    shown = tuple(name for words in arguments.metric or [] for name in words.split(","))
    results = read(arguments.results, arguments.without)
    ask = Ask(metrics=shown, reference=arguments.reference, tune_by=arguments.tune_by)
    if ask != Ask():
        can_be_asked(results, ask)
    story = tell_story(results, ask)
    for sentence in story.warnings:
        say(sentence, sys.stdout)
    out.parent.mkdir(parents=True, exist_ok=True)
    words = ["python", "analysis/make_report.py", *(sys.argv[1:] if argv is None else argv)]
    write_text(out, page(story, folder, as_typed(words)))
    say(f"Report: {out}", sys.stdout)
    if arguments.wandb:
        from analysis.report.publish import publish  # W&B takes a second to import

        return publish(story, arguments.wandb, out.with_name("wandb_report.json"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
