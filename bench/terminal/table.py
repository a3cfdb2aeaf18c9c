"""Tables of runs for the terminal."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from bench.base.errors import shortened
from bench.store.files import read_json
from bench.store.record import COLUMNS, SCORE
from bench.store.regular import end_of
from bench.store.software import mixed
from bench.terminal.console import Console
from bench.terminal.visible import in_line, visible

ALWAYS = ("algo", "topology")
CHOICES = ("algo", "topology", "dataset", "partition", "model")
WRONG = "wrong"
"""The reason why a run is damaged; not a column."""
NEVER = {"run_id", "results", "data_dir", "force", "stale", "tracker", "state", "engine", "device", "ranks", "jobs"}
NEVER |= {"checkpoint_every", "replicas", WRONG}
SHOWN = {name: name for name in ("test_loss", "test_accuracy", "grad_norm", "consensus")} | {"wall_s": "seconds"}
"""The metrics of a table, with their headings."""
SPARED = ("seconds", "grad_norm", "step", "test_loss", "consensus")
"""The columns that a narrow terminal hides, in this order."""
UNDERWAY = ("running", "interrupted")
LONG = 1000
"""Runs above which a table has no frames, which take milliseconds a line."""
STYLES = {"done": "green", "diverging": "yellow", "nonfinite": "yellow", "failed": "red", "damaged": "red"}
STYLES |= {"missing": "dim", "running": "cyan"}
TAIL, LOG = 4, 1 << 20
"""Lines of a log that are shown, and bytes at its end that are read."""
LONG_ERROR, SEARCHED = 4096, 100
"""Characters of an error that are shown, and lines at the end of a log that are compared with it."""


def show_table(console: Console, summaries: Sequence[Mapping[str, Any]]) -> None:
    """Print a table of runs, or a sentence if there are none."""
    if not summaries:
        console.print("No runs.")
        return
    if console.quiet:
        return
    columns = run_columns(summaries)
    if len(summaries) > LONG:
        console.file.writelines(plain_lines(columns))
        return
    spared = [name for name in SPARED if name != "test_loss" or "test_accuracy" in columns]
    if any(s.get("state") in UNDERWAY for s in summaries):  # their progress matters most
        spared.sort(key=lambda name: name == "step")
    show_columns(console, columns, spared)


def show_columns(console: Console, columns: Mapping[str, Sequence[str]], spared: Sequence[str]) -> None:
    """Print a table without cutting cells.

    If it is too wide, constant columns are printed above it; then columns of ``spared`` are hidden, in this order; if
    that is not enough, each row is a paragraph.
    """
    if fits(console, table := _table(columns)):
        print_whole(console, table)
        return
    rest, same, hidden = dict(columns), {}, list[str]()
    for name, cells in columns.items():
        if len(cells) > 1 and len(set(cells)) == 1:
            same[name] = rest.pop(name)[0]
    if same:
        _paragraph(console, "Every row: ", same)
    for name in (name for name in spared if name in rest):
        if fits(console, _table(rest)):
            break
        del rest[name]
        hidden.append(name)
    if fits(console, table := _table(rest)):
        console.print(table)
        if hidden:
            console.print(f"Hidden columns (terminal too narrow): {', '.join(hidden)}. A file or a pipe gets all.")
        return
    for row in zip(*columns.values(), strict=True):
        _paragraph(console, "", {name: cell for name, cell in zip(columns, row, strict=True) if name not in same})


def _paragraph(console: Console, before: str, cells: Mapping[str, str]) -> None:
    """Print names with their values, without a line break between the two."""
    text = before + "  ".join(f"{name}={cell}" for name, cell in cells.items())
    lines = textwrap.wrap(text, console.width, subsequent_indent="    ", break_on_hyphens=False)
    console.print("\n".join(lines), soft_wrap=True)


def fits(console: Console, table: Table) -> bool:
    """Return whether a table fits without cutting; always true of files."""
    return not console.is_terminal or full_width(console, table) <= console.width


def print_whole(console: Console, table: Table) -> None:
    """Print a table at its full width, also to a file or a pipe."""
    if not console.is_terminal:
        console = Console(file=console.file, width=full_width(console, table))
    console.print(table)


def full_width(console: Console, table: Table) -> int:
    """Return the width of a table without cutting, in characters."""
    return console.measure(table, options=console.options.update(width=sys.maxsize)).maximum


def in_order(summaries: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Sort by method, graph and all other labels, numbers ascending, as in a sweep."""
    found = list(summaries)
    differ = [name for name in _label_names(found) if len({str(s.get(name)) for s in found}) > 1]
    names = [*ALWAYS, *(name for name in differ if name not in ("seed", *ALWAYS)), "seed"]
    return sorted(found, key=lambda s: [_rank(s.get(name)) for name in names])


def _rank(value: Any) -> tuple[int, float, str]:
    """Return a sorting key: missing values, then numbers, then words."""
    if value is None:
        return 0, 0.0, ""
    return (1, float(value), "") if isinstance(value, int | float) else (2, 0.0, str(value))


def mixed_in(runs: Iterable[tuple[str, Path]]) -> str | None:
    """Return a sentence if runs, given by method and folder, were made with different software."""
    return mixed((algo, read_json(folder / "manifest.json")) for algo, folder in runs)


def show_mixed(console: Console, runs: Iterable[tuple[str, Path]]) -> None:
    """Print a sentence if runs, given by method and folder, were made with different software."""
    if sentence := mixed_in(runs):
        console.print(in_line(sentence), soft_wrap=True)


def show_failures(console: Console, failures: Sequence[tuple[Path, str]]) -> None:
    """Print the error of each failed run, the end of its log unless that repeats the error, and the log's path."""
    for path, error in failures:
        log, error = path / "log.txt", error if len(error) <= LONG_ERROR else f"{error[:LONG_ERROR]} …"
        lines = [in_line(f"{path.name} failed: {error}")]
        try:
            written = end_of(log, LOG).rstrip().splitlines()
            errors = [line.partition("errors.UserError: ")[2] for line in written[-SEARCHED:]]
            if not any(words and words in error for words in errors):
                lines += [f"    {shortened(line)}" for line in written[-TAIL:]]
            lines.append(f"  see {log}")
        except OSError:
            pass
        console.print("\n".join(lines), soft_wrap=True)


def plain_lines(columns: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Return a table as plain text at full width, one line per row."""
    aligned = []
    for name, cells in columns.items():
        width = max(map(len, (name, *cells)))
        aligned.append([f"{cell:>{width}}" if _is_number(name) else f"{cell:<{width}}" for cell in (name, *cells)])
    return ("  ".join(cells).rstrip() + "\n" for cells in zip(*aligned, strict=True))


def run_columns(summaries: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return the columns of a table of runs: labels that differ, the state, the final metrics."""
    labels = [name for name in _label_names(summaries) if name in ALWAYS or _varies(summaries, name)]
    ended = [s for s in summaries if s.get("state") != "failed"]  # the metrics of a failed run are not final
    scores = dict.fromkeys(name for s in summaries for name in s if name.startswith(SCORE))
    found = {name for name in {**SHOWN, **scores} if any(s.get(name) is not None for s in ended)}
    metrics = [name for name in dict.fromkeys(("test_loss", *scores, *SHOWN)) if name in found]
    names = [*labels, "state", "step", *metrics]
    return {in_line(SHOWN.get(name, name)): [_shown(s, name) for s in summaries] for name in names}


def _table(columns: Mapping[str, Sequence[str]]) -> Table:
    table = Table()
    for name in columns:
        table.add_column(Text(name), justify="right" if _is_number(name) else "left", no_wrap=True)
    for row in zip(*columns.values(), strict=True):
        table.add_row(*(Text(cell, STYLES.get(cell, "")) for cell in row))
    return table


def varying(labels: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the labels that distinguish these runs."""
    return [name for name in _label_names(labels) if _varies(labels, name)]


def _label_names(summaries: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the labels that can distinguish runs: neither metrics nor settings of the execution."""
    kinds = dict.fromkeys(map(tuple, summaries))  # most runs have the same names
    names = dict.fromkeys(name for kind in kinds for name in kind)
    return [name for name in names if name not in NEVER and name not in COLUMNS and not name.startswith(SCORE)]


def _varies(summaries: Sequence[Mapping[str, Any]], name: str) -> bool:
    """Return whether runs differ in a label; for an option, whether runs of the same choice do."""
    if name in CHOICES:
        return len({s.get(name) for s in summaries}) > 1
    owner = name.split(".")[0] if "." in name else "algo"
    pairs = {(s.get(owner, ""), str(s[name])) for s in summaries if name in s}
    if len(pairs) > len({choice for choice, _ in pairs}):
        return True
    return len({value for _, value in pairs}) > 1 and "." not in name and all(name in s for s in summaries)


def _shown(summary: Mapping[str, Any], name: str) -> str:
    measured = name in SHOWN or name.startswith(SCORE)
    return _cell(None if measured and summary.get("state") == "failed" else summary.get(name))


def _is_number(heading: str) -> bool:
    return heading in SHOWN.values() or heading.startswith(SCORE)


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else " ".join(visible(str(value)).splitlines())
