"""Tables of runs for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

ALWAYS = ("algo", "topology")
CHOICES = ("algo", "topology", "dataset", "partition", "model")
NEVER = {"run_id", "results", "data_dir", "force", "stale", "tracker", "state", "engine", "device", "ranks", "jobs"}
NEVER |= {"checkpoint_every", "replicas"}
METRICS = ("test_loss", "test_accuracy", "grad_norm", "consensus", "wall_s")
STYLES = {"done": "green", "diverged": "yellow", "failed": "red", "missing": "dim", "running": "cyan"}
LONG = 1000
"""Runs above which a table is written without frames: drawing them takes milliseconds a line."""
TAIL = 4
"""Lines of a log that are shown."""


def show_table(console: Console, summaries: Sequence[Mapping[str, Any]]) -> None:
    """A table of runs, or a sentence where there are none."""
    if len(summaries) > LONG:
        console.file.writelines(plain_lines(run_table(summaries)))
        return
    console.print(run_table(summaries) if summaries else "No runs.")


def show_failures(console: Console, failures: Sequence[tuple[Path, str]]) -> None:
    """For each failed run its sentence, the last lines of its log and where the log is."""
    for path, error in failures:
        log = path / "log.txt"
        lines = [f"{path.name} failed: {error}"]
        try:
            lines += [f"    {line}" for line in log.read_text(encoding="utf-8").rstrip().splitlines()[-TAIL:]]
            lines.append(f"  see {log}")
        except OSError:
            pass
        console.print("\n".join(lines), markup=False, soft_wrap=True)


def plain_lines(table: Table) -> Iterator[str]:
    """The same table as plain text, a line per row, at full width."""
    columns = []
    for column in table.columns:
        cells = [_without_markup(str(cell)) for cell in (column.header, *column.cells)]
        width = max(map(len, cells))
        columns.append([cell.rjust(width) if column.justify == "right" else cell.ljust(width) for cell in cells])
    return ("  ".join(cells).rstrip() + "\n" for cells in zip(*columns, strict=True))


def _without_markup(cell: str) -> str:
    return Text.from_markup(cell).plain if "[" in cell else cell


def run_table(summaries: Sequence[Mapping[str, Any]]) -> Table:
    """One line per run: the labels that tell the runs apart, the state, the final metrics."""
    labels = [name for name in _label_names(summaries) if name in ALWAYS or _varies(summaries, name)]
    metrics = [name for name in METRICS if any(s.get(name) is not None for s in summaries)]
    table = Table(*labels, "state", "step")
    for name in metrics:
        table.add_column("seconds" if name == "wall_s" else name, justify="right")
    for s in summaries:
        state = s.get("state", "?")
        cells = [_cell(s.get(name)) for name in labels]
        cells += [f"[{STYLES[state]}]{state}[/]" if state in STYLES else state, _cell(s.get("step"))]
        table.add_row(*cells, *(_cell(s.get(name)) for name in metrics))
    return table


def _label_names(summaries: Sequence[Mapping[str, Any]]) -> list[str]:
    """Labels come before the state in a summary; metrics after it."""
    names: dict[str, None] = {}
    for s in summaries:
        keys = list(s)
        names.update(dict.fromkeys(keys[: keys.index("state")]))
    return [name for name in names if name not in NEVER]


def _varies(summaries: Sequence[Mapping[str, Any]], name: str) -> bool:
    """Whether runs differ in a label; in an option only if runs of the same choice do."""
    if name in CHOICES:
        return len({s.get(name) for s in summaries}) > 1
    owner = name.split(".")[0] if "." in name else "algo"
    values: dict[str, set[str]] = {}
    for s in summaries:
        if name in s:
            values.setdefault(s.get(owner, ""), set()).add(str(s[name]))
    everywhere = all(name in s for s in summaries) and "." not in name
    return any(len(seen) > 1 for seen in values.values()) or (everywhere and len(set().union(*values.values())) > 1)


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
