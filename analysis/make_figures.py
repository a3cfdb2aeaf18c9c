"""Draw every figure and table for which there are results.

python analysis/make_figures.py                                   everything, into results/figures
python analysis/make_figures.py --figure stepsize --format pdf    one figure
python analysis/make_figures.py --figure stepsize --over beta      against another number, the others at their best
python analysis/make_figures.py --where dataset=a9a steps=5001    from some of the runs
python analysis/make_figures.py --figure final --columns method,eta,test_loss --reference dsgt    a table for a paper
python analysis/make_figures.py --figure final,curves --tune-by train_loss    settings chosen by another metric
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    from bench.terminal.command import begin

    begin()

from analysis.drawing.files import STABLE, save
from analysis.drawing.panels import Picture, seeds_in_words
from analysis.drawing.style import use_paper_style
from analysis.figures import Drawing, drawings
from analysis.results.archive import is_archive
from analysis.results.errors import NoData, in_sentences, perhaps, trouble
from analysis.results.plugins import broken
from analysis.results.read import read
from analysis.results.results import Results
from analysis.results.warnings import warnings
from analysis.study.ask import Ask, listening, unheard
from analysis.study.select import can_be_asked
from analysis.tables import Table, TableMaker, table_makers
from analysis.tables import format as words
from analysis.tables.digits import in_digits
from analysis.tables.format import DIFFERENCE
from analysis.tables.latex import latex, left_out_in_words, page
from bench.base.files import write_text
from bench.base.regular import no_link
from bench.terminal.console import Console

X = {
    **{"epochs": "epoch", "steps": "step", "samples": "samples", "gradients": "gradients"},
    **{"rounds": "rounds", "numbers": "numbers", "bytes": "bytes", "seconds": "wall_s"},
}
"""What can be paid with, and the column that counts it."""


@in_sentences("Nothing to draw")
def main(argv: Sequence[str] | None = None) -> int:
    arguments = parse(argv)
    console = Console(highlight=False, soft_wrap=True)
    results = read(arguments.results).where(arguments.where)
    out = Path(arguments.out) if arguments.out else no_link(Path(arguments.results) / "figures")
    ask = Ask(
        x=X[arguments.x] if arguments.x else None,
        cost=X[arguments.cost],
        metrics=tuple(arguments.metric),
        reference=arguments.reference,
        over=arguments.over,
        columns=tuple(arguments.columns),
        tune_by=arguments.tune_by,
    )
    can_be_asked(results, ask)
    use_paper_style()
    for sentence in warnings(results):
        console.print(words.wrapped(sentence, console.width, "") if console.is_terminal else sentence, markup=False)
    made, broken_ones = 0, 0
    for said, done in make_all(results, ask, arguments, out):
        console.print(words.wrapped(said, console.width) if console.is_terminal else said, markup=False)
        made += done is True
        broken_ones += done is None
    if made:
        console.print(f"Figures and tables: {out}", markup=False)
    return 2 if not made else 1 if broken_ones else 0


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [*drawings(), *table_makers()]
    parser.add_argument("--figure", action="append", metavar="NAME", help=f"of {', '.join(names)}; may be given again")
    parser.add_argument("--results", default="results", help="a results folder, an archive, or wandb:ENTITY/PROJECT")
    parser.add_argument("--out", help="where the pictures go; default <results>/figures, of an archive figures here")
    parser.add_argument("--format", default="pdf,png", help="of pdf, png, svg")
    parser.add_argument("--where", nargs="+", default=[], metavar="LABEL=VALUE,VALUE", help="only these runs")
    parser.add_argument("--metric", action="append", metavar="NAME", help="to show; may be given again")
    parser.add_argument("--reference", metavar="METHOD", help="that the others are compared with")
    parser.add_argument("--over", default="eta", metavar="OPTION", help="of stepsize, topology and robustness")
    parser.add_argument("--columns", default="", metavar="NAME,NAME", help="of the tables")
    parser.add_argument("--tune-by", metavar="NAME", help="the metric that best settings are chosen by")
    parser.add_argument("--x", choices=X, help="the axis of curves and compare")
    parser.add_argument(
        "--cost", default="steps", choices=[name for name in X if name != "epochs"], help="of the profiles"
    )
    arguments = parser.parse_args(argv)
    arguments.format = arguments.format.split(",")
    if wrong := [kind for kind in arguments.format if kind not in STABLE]:
        parser.error(f"there is no format {wrong[0]!r}{perhaps(wrong[0], STABLE)}; there are {', '.join(STABLE)}")
    arguments.columns = [word for word in arguments.columns.split(",") if word]
    arguments.metric = [name for words in arguments.metric or [] for name in words.split(",")]
    arguments.figure = [name for words in arguments.figure or [] for name in words.split(",")] or None
    if wrong := [name for name in arguments.figure or [] if name not in names]:
        reasons = "".join(f"; plug-in '{plugin}' cannot be imported: {why}" for plugin, why in broken.items())
        there = f"{perhaps(wrong[0], names)}; there are {', '.join(names)}"
        parser.error(f"there is no figure or table {wrong[0]!r}{there}{reasons}")
    if wrong := [word for word in arguments.where if "=" not in word]:
        parser.error(f"--where takes LABEL=VALUE; got {wrong[0]!r}")
    arguments.where = [(word.split("=", 1)[0], word.split("=", 1)[1].split(",")) for word in arguments.where]
    if arguments.out is None and (not Path(arguments.results).is_dir() or is_archive(Path(arguments.results))):
        arguments.out = "figures"
    return arguments


def make_all(results: Results, ask: Ask, arguments: argparse.Namespace, out: Path) -> Iterator[tuple[str, bool | None]]:
    """Every figure and table that is wanted, on all cores: what is said of each, and whether it was made; None where
    it is broken."""
    out.mkdir(parents=True, exist_ok=True)
    wanted = arguments.figure or [*drawings(), *table_makers()]
    jobs = [name for name in [*drawings(), *table_makers()] if name in wanted]
    _shared.update(results=results, ask=ask, arguments=arguments, out=out)
    if len(jobs) < 3 or sys.platform != "linux":
        yield from map(_make, jobs)
        return
    # forked, so that the results need not be sent
    with ProcessPoolExecutor(min(len(jobs), os.cpu_count() or 1), get_context("fork"), initializer=_alone) as pool:
        yield from pool.map(_make, jobs)


_shared: dict[str, Any] = {}


def _alone() -> None:
    """Ctrl-C is the parent's to hear: a process that draws ends its figure, and gets no other."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _make(name: str) -> tuple[str, bool | None]:
    results, ask, arguments, out = (_shared[key] for key in ("results", "ask", "arguments", "out"))
    ask, heard = listening(ask)
    if name in drawings():
        said, made = make_figure(drawings()[name], results, ask, arguments.format, out)
    else:
        said, made = make_table(table_makers()[name], results, ask, out)
    if made and (deaf := unheard(_shared["ask"], heard)):
        said += f"\n{'':15} {name} does not use {', '.join(deaf)}: it is as it would be without"
    return said, made


def make_figure(drawing: Drawing, results: Results, ask: Ask, formats: list[str], out: Path) -> tuple[str, bool | None]:
    """Draw one and say what it shows, or what would make it."""
    try:
        picture = drawing.picture(results, ask)
    except NoData as error:
        return f"{drawing.name:15} not drawn: {error}. Its runs: {drawing.command}", False
    except Exception as error:  # a stranger's figure may raise anything, and the others are drawn
        return f"{drawing.name:15} not drawn: {trouble(error, drawing.draw)}", None
    files = save(picture.figure, out, drawing.name, formats)
    write_text(out / f"{drawing.name}.csv", words.csv(picture.data))
    first = f"{drawing.name:15} {describe(results, picture)} → {', '.join(file.name for file in files)}"
    return "\n".join([first, *(f"{'':15} {note}" for note in picture.notes)]), True


def describe(results: Results, picture: Picture) -> str:
    """12 runs (11 done, 1 diverged), seeds 0–2"""
    return seeds_in_words(results.runs[results.runs["run_id"].isin(picture.runs)])


def make_table(recipe: TableMaker, results: Results, ask: Ask, out: Path) -> tuple[str, bool | None]:
    try:
        whole, said = recipe.table(results, ask), []
        try:
            table = words.chosen(whole, ask.columns, results)
        except NoData as error:
            if recipe.ours:
                raise
            table, said = whole, [f"{'':15} {error}: it is as it would be without --columns"]
    except NoData as error:
        return f"{recipe.name:15} not made: {error}", False
    except Exception as error:  # a stranger's table may raise anything, and the others are made
        return f"{recipe.name:15} not made: {trouble(error, recipe.make)}", None
    texts = {
        "md": words.markdown(in_digits(table), table.title or recipe.title),
        "tex": latex(table, table.title or recipe.title),
        "csv": words.csv(table.data),
    }
    for kind, text in texts.items():
        write_text(out / f"table_{recipe.name}.{kind}", text)
    if "reference" in table.data and ask.reference and (why := no_difference(table)):
        said.append(f"{'':15} --reference {ask.reference} is not seen in it: {why}")
    if (fits := page(table)).left_out:
        said.append(f"{'':15} in .tex {left_out_in_words(fits)}")
    rows = f"{len(table.data)} row{'s' * (len(table.data) != 1)}"
    return "\n".join([f"{recipe.name:15} {rows} → table_{recipe.name}.md, .tex, .csv", *said]), True


def no_difference(table: Table) -> str:
    """Why no difference from the reference is to be seen; nothing where there is one."""
    if "reference_minus" not in table.data or table.data["reference_minus"].isna().all():
        return "no other method has a run on the same problem with the same seed, or none of them has a value"
    if table.asked and not any(DIFFERENCE in name for name in table.asked):
        return "the differences are not among the columns; 'difference' in --columns is theirs"
    return ""


if __name__ == "__main__":
    sys.exit(main())
