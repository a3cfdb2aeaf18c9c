"""Load results, and make figures and tables from them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib
import matplotlib.text
import pandas as pd

from analysis.drawing.bands import KINDS, bands
from analysis.drawing.style import escape_texts, use_paper_style
from analysis.figures import drawings
from analysis.make_figures import REQUEST, X, requested
from analysis.results.archive import is_archive
from analysis.results.duplicates import contradicting, together
from analysis.results.errors import NoData
from analysis.results.folder import load_folder
from analysis.results.read import read
from analysis.results.results import Results
from analysis.results.warnings import mixed_note, mixed_software, unreadable
from analysis.results.warnings import warnings as remarks
from analysis.study.figure_options import FigureOptions, unused
from analysis.tables import table_makers
from bench.base.errors import UserError
from bench.base.registry import no_such
from bench.terminal.notebook import show_figures
from hearsay.stored import FOLDER, check_columns, check_source, check_stored
from hearsay.swept import of_sweep

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bench.sweep.sweep import Result


def load(source: str | Path = "results") -> pd.DataFrame:
    """Return the runs of a results folder, an archive or a W&B project as one table.

    Args:
        source: A results folder, an archive, or ``"wandb:ENTITY/PROJECT"``.

    Returns:
        One row per run and evaluation, with the columns of ``sweep``. It can be given to ``figure`` and ``table``, also
        after all rows of some runs have been removed, or columns have been added. ``folder`` of an archived run is the
        archive.

    Raises:
        UserError: There are no runs in the source.

    Example:
        >>> runs = load("results")
        >>> last = runs.groupby("run_id").tail(1)  # the last evaluation of each run
    """
    check_source(source)
    with sentences("Nothing to load"):
        results = read(source)
    made = [results.facts.get(run, {}) for run in results.runs["run_id"]]
    for sentence in [*unreadable(results), *mixed_software(results.runs, made)]:
        warnings.warn(sentence, stacklevel=2)
    with _texts():
        return _table(results)


def figure(name: str, runs: pd.DataFrame | str | Path = "results", *, band: str = "range", **options: Any) -> Figure:
    """Draw a figure, one of those of ``analysis/make_figures.py``.

    Args:
        name: The name of the figure, such as ``"compare"``, ``"curves"`` or ``"stepsize"``.
        runs: A table of ``sweep`` or ``load``, or anything that ``load`` accepts.
        band: The meaning of bands: ``"range"``, ``"std"``, ``"ci"`` or ``"none"``.
        **options: Options of ``make_figures.py``: ``x``, ``cost``, ``metric``, ``reference``, ``over``, ``tune_by``,
            ``network``.

    Returns:
        The Matplotlib figure. A notebook shows it; ``figure.savefig("name.pdf")`` writes it.

    Raises:
        UserError: The figure or an option is unknown, no run fits the figure, or ``runs`` lacks evaluations of its runs
            or has values that differ from the stored ones.

    Example:
        >>> figure("stepsize", runs[runs["topology"] == "ring"], over="eta")
    """
    if name not in drawings():
        raise UserError(no_such("figure", name, drawings()))
    if band not in KINDS:
        raise UserError(f"band must be one of {', '.join(KINDS)}, got {band!r}.")
    drawing = drawings()[name]
    with sentences(f"The figure {name} cannot be drawn"), matplotlib.rc_context(), bands(band):
        results, request = _requested(runs, drawing.uses, options)
        use_paper_style()
        drawn = drawing.picture(results, request).figure
        _fix_fonts(drawn)
    show_figures()
    return drawn


def table(
    name: str, runs: pd.DataFrame | str | Path = "results", *, formatted: bool = False, **options: Any
) -> pd.DataFrame:
    """Make a table, one of those of ``analysis/make_figures.py``.

    Args:
        name: The name of the table, such as ``"final"``, ``"robustness"`` or ``"methods"``.
        runs: A table of ``sweep`` or ``load``, or anything that ``load`` accepts.
        formatted: Return the cells as a paper prints them, with rounded numbers and intervals, instead of numbers.
            The table of numbers has a column for each setting and each end of an interval, so select some with
            ``columns`` before you print it.
        **options: Options of ``make_figures.py``: ``metric``, ``reference``, ``over``, ``columns``, ``tune_by``,
            ``network``.

    Returns:
        The table. Its ``attrs["title"]`` and ``attrs["notes"]`` are the title and the sentences below it.

    Raises:
        UserError: The table or an option is unknown, no run fits the table, or ``runs`` lacks evaluations of its runs
            or has values that differ from the stored ones.

    Example:
        >>> table("final", runs, formatted=True)
        >>> table("final", runs, columns=["algo", "topology", "eta", "test_accuracy"])
    """
    if name not in table_makers():
        raise UserError(no_such("table", name, table_makers()))
    maker = table_makers()[name]
    uses = None if maker.uses is None else ("columns", *maker.uses)
    with sentences(f"The table {name} cannot be made"):
        results, request = _requested(runs, uses, options)
        made = maker.table(results, request)
        whole = made.shown if formatted else made.data
        if unknown := [column for column in request.columns if column not in whole]:
            raise UserError(no_such("column", unknown[0], map(str, whole)))
    out = whole[list(request.columns or whole)].reset_index(drop=True)
    out.attrs = {"title": made.title or maker.title, "notes": [*made.notes, *mixed_note(results, results.runs)]}
    return out


def _fix_fonts(figure: Figure) -> None:
    """Set the fonts of all texts, because Matplotlib chooses them when it draws, with the style of the user."""
    escape_texts(figure)
    figure.draw_without_rendering()  # creates the labels of ticks
    for text in figure.findobj(matplotlib.text.Text):
        text.set_fontfamily(matplotlib.rcParams["font.serif"])
        text.set_math_fontfamily(matplotlib.rcParams["mathtext.fontset"])


def evaluations(results: Sequence[Result]) -> pd.DataFrame:
    """Return the table of the runs of a sweep, in their order."""
    places: dict[Path, list[Result]] = {}
    for result in results:
        places.setdefault(result.path.parent.parent, []).append(result)
    with _texts():
        return pd.concat([_table(of_sweep(place, some)) for place, some in places.items()], ignore_index=True)


def results_of(runs: pd.DataFrame | str | Path) -> Results:
    """Return the runs of a table as the input of figures and tables; raise ``NoData`` if there are none."""
    if not isinstance(runs, pd.DataFrame):
        check_source(runs)
        return read(runs)
    check_columns(runs)
    wanted: dict[str, list[str]] = {}
    for folder, run in runs[[FOLDER, "run_id"]].drop_duplicates().itertuples(index=False):
        archived = folder.startswith("wandb:") or is_archive(Path(folder))
        wanted.setdefault(folder if archived else str(Path(folder).parent.parent), []).append(run)
    if not wanted:
        raise NoData("the table of runs has no rows")
    parts = []
    for source, names in wanted.items():
        if source.startswith("wandb:") or is_archive(Path(source)):
            whole = read(source)
            parts.append(whole.of(whole.runs[whole.runs["run_id"].isin(names)]))
        else:
            parts.append(load_folder(Path(source), names))
        lost = {*names}.difference(parts[-1].runs.get("run_id", ()))
        if gone := sorted(name for name in lost if not Path(source, "runs", name).is_dir()):  # others are damaged
            raise UserError(f"{source} does not contain the run {gone[0]} of the table. Load the runs again.")
        if len(parts[-1].runs):
            check_stored(runs, _table(parts[-1]))
    if differ := contradicting(parts):
        some = f"The run {differ[0]} has" if len(differ) == 1 else f"{len(differ)} runs, such as {differ[0]}, have"
        raise UserError(
            f"{some} other results in one of {', '.join(wanted)} than in another. Pass the table of one of them, or "
            "repeat these runs with the same source."
        )
    return parts[0] if len(parts) == 1 else together(parts)


def _table(results: Results) -> pd.DataFrame:
    """Return the runs with their evaluations; a run without one has one row."""
    rows = results.runs.merge(results.rows, on="run_id", how="left")
    place = results.folder or results.source
    rows[FOLDER] = [str(place / run) for run in rows["run_id"]] if isinstance(place, Path) else place
    rows.attrs["unreadable"] = results.unreadable
    return rows


def _requested(
    runs: pd.DataFrame | str | Path, uses: Sequence[str] | None, options: dict[str, Any]
) -> tuple[Results, FigureOptions]:
    """Return the results and the options of a figure or table, and warn about skipped runs and ignored options."""
    for option, value in options.items():
        if option not in REQUEST:
            raise UserError(no_such("option", option, REQUEST))
        if option in ("x", "cost") and value not in X:
            raise UserError(f"{option} must be one of {', '.join(X)}, got {value!r}.")
        if option in ("metric", "columns", "network") and isinstance(value, str | Path):
            options[option] = [value]
    results, request, untimed = requested(results_of(runs), **options)
    ignored = [word.removeprefix("--").replace("-", "_") for word in unused(request, uses)]
    for sentence in [*remarks(results), *untimed, *(f"The option {name} is ignored." for name in ignored)]:
        warnings.warn(sentence, stacklevel=3)
    return results, request


@contextmanager
def sentences(nothing: str) -> Iterator[None]:
    """Raise ``NoData`` of the body as a ``UserError`` that begins with ``nothing``."""
    with _texts():
        try:
            yield
        except NoData as error:
            raise UserError(f"{nothing}: {error}.") from error


@contextmanager
def _texts() -> Iterator[None]:
    """Store texts as ``read`` does, and restore the option of the user."""
    with pd.option_context("mode.string_storage", "python"):
        yield
