"""Write a report of a results folder: an HTML page, or also a W&B report.

The page is one file that opens from disk, with figures, tables and findings.

Examples:
  python analysis/make_report.py
  python analysis/make_report.py --results results --metric train_loss
  python analysis/make_report.py --wandb my-team/hearsay
"""

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
from analysis.report.page import FIRST, page
from analysis.report.replace import must_be_ours
from analysis.report.report_data import gather_report
from analysis.results.errors import NoData, in_sentences
from analysis.results.read import METRIC, REFERENCE, TUNE_BY, add_network, add_source, read
from analysis.results.seconds import has_networks, on_network, on_own_networks
from analysis.study.figure_options import FigureOptions
from analysis.study.select import can_be_asked
from bench.clock import load_network
from bench.store.files import write_text
from bench.terminal.command import say


@in_sentences("There is nothing to report")
def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_source(parser)
    parser.add_argument("--out", type=Path, metavar="FILE", help="HTML file to write (default: <results>/report.html)")
    parser.add_argument("--wandb", metavar="ENTITY/PROJECT", help="also publish a W&B report in this project")
    parser.add_argument("--metric", action="append", metavar="NAME", help=METRIC)
    parser.add_argument("--reference", metavar="METHOD", help=REFERENCE)
    parser.add_argument("--tune-by", metavar="NAME", help=TUNE_BY)
    add_network(parser, "show the seconds on this network, in the table of runs and in a figure and a table")
    arguments = parser.parse_args(argv)
    if len(arguments.network) > 1:
        parser.error(f"--network must be one network, got {' '.join(arguments.network)}")
    if arguments.wandb and arguments.wandb.count("/") != 1:
        parser.error(f"--wandb must be ENTITY/PROJECT, got {arguments.wandb!r}")
    folder = Path(arguments.results) if Path(arguments.results).is_dir() else None
    out = arguments.out or (folder or Path()) / "report.html"
    must_be_ours(out, FIRST, "another file after --out")
    use_paper_style()
    shown = tuple(name for words in arguments.metric or [] for name in words.split(","))
    results = read(arguments.results, arguments.without)
    networks, untimed = tuple(map(load_network, arguments.network)), list[str]()
    for network in networks:
        results, untimed = on_network(results, network)
    if not networks and has_networks(results):
        try:
            results, untimed = on_own_networks(results)
        except NoData as error:
            untimed = [f"The report has no seconds on the networks of the runs: {error}."]
    request = FigureOptions(metrics=shown, reference=arguments.reference, tune_by=arguments.tune_by, networks=networks)
    if request != FigureOptions():
        can_be_asked(results, request)
    report = gather_report(results, request)
    report.warnings += untimed
    for sentence in report.warnings:
        say(sentence, sys.stdout)
    out.parent.mkdir(parents=True, exist_ok=True)
    command = ["python", "analysis/make_report.py", *(sys.argv[1:] if argv is None else argv)]
    write_text(out, page(report, as_typed(command)))
    say(f"Report: {out}", sys.stdout)
    if arguments.wandb:
        from analysis.report.publish import publish  # W&B takes a second to import

        return publish(report, arguments.wandb, out.with_name("wandb_report.json"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
