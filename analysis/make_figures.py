"""Draw the figures and write the tables of a results folder.

Without --figure, makes every figure and table for which there are runs. An
option that a figure or table does not use is reported.

Examples:
  python analysis/make_figures.py
  python analysis/make_figures.py --figure stepsize --over alpha --format pdf
  python analysis/make_figures.py --figure curves --where dataset=a9a --x bytes
  python analysis/make_figures.py --figure final --columns method,eta,test_loss
  python analysis/make_figures.py --figure curves --x seconds --network cities8
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    from bench.terminal.command import begin

    begin()

from analysis.drawing.bands import bands
from analysis.drawing.files import STABLE, save
from analysis.drawing.layout import Layout, add_layout, arrange, joined
from analysis.drawing.panels import seeds_in_words
from analysis.drawing.style import use_paper_style
from analysis.figures import Drawing, drawings
from analysis.report.bibtex import HEAD, Bibliography, bibliography
from analysis.report.caption import figure_for_latex
from analysis.report.replace import must_be_ours
from analysis.report.table_files import make_table
from analysis.results.archive import is_archive
from analysis.results.errors import NoData, in_sentences, perhaps, trouble
from analysis.results.plugins import broken
from analysis.results.processes import on_all_cores
from analysis.results.read import METRIC, REFERENCE, TUNE_BY, add_network, add_source, condition, read
from analysis.results.results import NETWORK_S, Results
from analysis.results.seconds import has_networks, on_network, on_own_networks
from analysis.results.warnings import warnings
from analysis.study.figure_options import FigureOptions, unused
from analysis.study.select import can_be_asked
from analysis.tables import format as words
from analysis.tables import table_makers
from bench.base import renamed
from bench.clock import load_network
from bench.store.files import write_text
from bench.store.regular import no_link
from bench.terminal.command import say
from bench.terminal.visible import in_line

X = {
    **{"epochs": "epoch", "steps": "step", "samples": "samples", "gradients": "gradients"},
    **{"rounds": "rounds", "scalars": "scalars_sent", "bytes": "bytes", "seconds": "wall_s"},
}
"""Costs, and their columns."""
REQUEST = ("x", "cost", "metric", "network", "reference", "over", "columns", "tune_by")
"""The options that all figures and tables receive."""


@in_sentences("Nothing to draw")
def main(argv: Sequence[str] | None = None) -> int:
    arguments = parse(argv)
    out = Path(arguments.out) if arguments.out else no_link(Path(arguments.results) / "figures")
    must_be_ours(out / "references.bib", HEAD, "another folder after --out")
    everything = read(arguments.results, arguments.without)
    results, request, untimed = requested(
        everything.where(arguments.where), **{name: getattr(arguments, name) for name in REQUEST}
    )
    layout = Layout(**{field.name: getattr(arguments, field.name) for field in fields(Layout)})
    order = Order(results, request, layout, arguments.band, arguments.format, bibliography(everything), out)
    use_paper_style()
    for sentence in [*warnings(results), *untimed]:
        say(sentence, sys.stdout)
    states = []
    for message, state in make_all(order, arguments.figure):
        say(message, sys.stdout, indent=16)
        states.append(state)
    if not any(states):
        return 2
    write_text(out / "references.bib", order.papers.text())
    say(f"Figures and tables: {out}", sys.stdout)
    return int(None in states)


def requested(
    results: Results,
    x: str | None = None,
    cost: str = "steps",
    metric: Sequence[str] = (),
    network: Sequence[str | Path] = (),
    **more: Any,
) -> tuple[Results, FigureOptions, list[str]]:
    """Return the results with the seconds that the options need, the options, and sentences about runs without them.

    ``more``: reference, over, columns and tune_by.
    """
    networks, untimed = tuple(map(load_network, network)), list[str]()
    if "seconds" in (x, cost) and networks:
        results, untimed = on_network(results, networks[0])
    elif "seconds" in (x, cost) and has_networks(results):
        results, untimed = on_own_networks(results)
    costs = {**X, "seconds": NETWORK_S} if networks or results.network else X
    more["columns"] = tuple(more.get("columns", ()))
    request = FigureOptions(
        x=costs[x] if x else None, cost=costs[cost], metrics=tuple(metric), networks=networks, **more
    )
    can_be_asked(results, request)
    return results, request, untimed


def split(text: str) -> list[str]:
    """Parse NAME,NAME."""
    return [word for word in text.split(",") if word]


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names, add = [*drawings(), *table_makers()], parser.add_argument
    several: dict[str, Any] = {"action": "extend", "type": split}
    about = f"figures and tables to make (default: all). Names: {', '.join(names)}"
    add("--figure", **several, metavar="NAME,NAME", help=about)
    add_source(parser)
    about = "folder for the figures and tables (default: <results>/figures; figures for an archive or W&B)"
    add("--out", metavar="FOLDER", help=about)
    about = "file formats of the figures: pdf, png, svg (default: pdf,png)"
    add("--format", default=["pdf", "png"], type=split, metavar="KIND,KIND", help=about)
    about = "use only the runs with these labels, such as dataset=a9a or steps=5001 (default: all runs)"
    where = "LABEL=VALUE,VALUE"
    add("--where", nargs="+", action="extend", default=[], type=condition, metavar=where, help=about)
    add("--metric", **several, default=[], metavar="NAME", help=METRIC)
    add("--reference", metavar="METHOD", help=REFERENCE)
    about = "option of the methods that stepsize, topology and robustness are about (default: eta)"
    add("--over", default="eta", metavar="OPTION", help=about)
    about = "columns of the tables (default: the usual ones)"
    add("--columns", default=[], type=split, metavar="NAME,NAME", help=about)
    add("--tune-by", metavar="NAME", help=TUNE_BY)
    axis_of = "x axis of curves, compare and compression (default: epochs, steps and bytes)"
    add("--x", choices=X, metavar="COST", help=f"{axis_of}. Costs: {', '.join(X)}")
    costs = [name for name in X if name != "epochs"]
    add("--cost", default="steps", choices=costs, metavar="COST", help="cost in the figure profile (default: steps)")
    add_network(
        parser,
        "compute the seconds of --x seconds and --cost seconds for a network instead of the measured ones; "
        "the figure network and the table network_times need it too",
    )
    add_layout(parser)
    arguments = parser.parse_args(joined(sys.argv[1:] if argv is None else argv))
    if arguments.figure is not None:
        arguments.figure = [renamed.FIGURES.get(name, name) for name in arguments.figure]
    if len(arguments.network) > 1 and "seconds" in (arguments.x, arguments.cost):
        parser.error(f"an axis of seconds needs one network, got {' '.join(arguments.network)}")
    if wrong := [kind for kind in arguments.format if kind not in STABLE]:
        parser.error(f"unknown format {wrong[0]!r}{perhaps(wrong[0], STABLE)}; known: {', '.join(STABLE)}")
    if wrong := [name for name in arguments.figure or [] if name not in names]:
        reasons = "".join(f"; plug-in '{plugin}' cannot be imported: {why}" for plugin, why in broken.items())
        known = f"{perhaps(wrong[0], names)}; known: {', '.join(names)}"
        parser.error(f"unknown figure or table {wrong[0]!r}{known}{reasons}")
    if arguments.out is None and (not Path(arguments.results).is_dir() or is_archive(Path(arguments.results))):
        arguments.out = "figures"
    return arguments


@dataclass(frozen=True)
class Order:
    """The data and options of all figures and tables."""

    results: Results
    request: FigureOptions
    layout: Layout
    band: str
    formats: list[str]
    papers: Bibliography
    out: Path


Outcome = tuple[str, bool | None]
"""The message on a figure or table, and whether it was made; None if its function failed."""


def make_all(order: Order, named: list[str] | None) -> Iterator[Outcome]:
    """Make the named figures and tables, or all."""
    order.out.mkdir(parents=True, exist_ok=True)
    jobs = [name for name in [*drawings(), *table_makers()] if not named or name in named]
    yield from on_all_cores([partial(_make, name, order) for name in jobs])


def _make(name: str, order: Order) -> Outcome:
    if drawing := drawings().get(name):
        message, made, ignored = make_figure(drawing, order)
        uses = drawing.uses
    else:
        recipe = table_makers()[name]
        message, made = make_table(recipe, order.results, order.request, order.out)
        ignored = [*order.layout.given(), *(["--band"] if order.band != "range" else [])]
        uses = None if recipe.uses is None else ("columns", *recipe.uses)
    ignored = [*unused(order.request, uses), *ignored]
    return f"{message}\n{'':15} (ignored options: {', '.join(ignored)})" if made and ignored else message, made


def make_figure(drawing: Drawing, order: Order) -> tuple[str, bool | None, list[str]]:
    """Make one figure. Return a message, whether it was made (None: it failed), and the layout options it ignored."""
    results, name = order.results, drawing.name
    try:
        with bands(order.band) as band:
            picture = drawing.picture(results, order.request)
    except NoData as error:
        return f"{name:15} not drawn: {in_line(str(error))}. To make these runs, type: {drawing.command}", False, []
    except Exception as error:  # a plug-in may raise anything; the other figures are still drawn
        return f"{name:15} not drawn: {trouble(error, drawing.draw)}", None, []
    try:
        ignored = arrange(picture.figure, order.layout)
        files = save(picture.figure, order.out, name, order.formats)
    except NoData as error:
        return f"{name:15} not drawn: {in_line(str(error))}", False, []
    except (ValueError, ArithmeticError, MemoryError) as error:  # values that Matplotlib cannot draw
        return f"{name:15} not drawn: {trouble(error, drawing.draw)}", None, []
    ignored += ["--band"] if order.band != "range" and not band.used else []
    write_text(order.out / f"{name}.csv", words.csv(picture.data))
    write_text(order.out / f"{name}.tex", figure_for_latex(drawing, picture, results, band, order.papers))
    used = seeds_in_words(results.runs[results.runs["run_id"].isin(picture.runs)])
    first = f"{name:15} {used} → {', '.join(file.name for file in files)}"
    return "\n".join([first, *(f"{'':15} {in_line(note)}" for note in picture.notes)]), True, ignored


if __name__ == "__main__":
    sys.exit(main())
