"""Progress of sweeps, downloads and long lists: bars in a terminal, lines in a file."""

from __future__ import annotations

import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from rich.console import Group as Stack
from rich.live import Live
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Column

from bench.store.record import Row
from bench.terminal.console import Console
from bench.terminal.notebook import NotebookLive, in_notebook

PATIENCE_S = 0.1
"""Seconds between updates of a bar."""
MILESTONE_S = 30.0
"""Seconds between lines about one run without a terminal."""
SOON_S, COUNT_S, MANY = 0.7, 5.0, 100
"""For ``counting``: seconds before the first line and between lines, and the least count, without a terminal."""
WIDE = 110
"""Columns of a terminal from which running groups have a bar."""
Group = Sequence[object]
"""Runs that are replicas of one program; the first object identifies the group."""


class Display:
    """Progress of a sweep. In a terminal: a bar for the sweep and one for each running group."""

    def __init__(self, console: Console, steps: Sequence[int]) -> None:
        """``steps`` has the number of steps of every run."""
        self._console, self._total = console, len(steps)
        self._lock = threading.Lock()
        self._ended_steps = 0  # of all ended runs, also those of other processes
        self._states = Counter[str]()
        self._running: dict[int, Running] = {}
        self._live: Live | NotebookLive | None = None
        notebook = in_notebook() and not console.quiet
        if console.is_terminal or notebook:
            text = TextColumn("{task.description}", markup=False)
            self._sweep = Progress(
                text, BarColumn(30), TextColumn("{task.percentage:3.0f} %"), TimeElapsedColumn(), TimeRemainingColumn()
            )
            name = TextColumn("{task.description}", markup=False, table_column=Column(overflow="ellipsis"))
            bar = [BarColumn(20)] if console.width >= WIDE else []  # a narrow terminal cuts names, never numbers
            count = MofNCompleteColumn(table_column=Column(no_wrap=True))
            self._bars = Progress(name, *bar, count, TextColumn("{task.fields[news]}"))
            self._all = self._sweep.add_task("", total=sum(steps))
            bars = Stack(self._sweep, self._bars)
            self._live = NotebookLive(bars) if notebook else Live(bars, console=console, transient=True)

    def __enter__(self) -> Display:
        if self._live:
            self._live.start()
            self._headline()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self._live:
            self._live.stop()

    def begin(self, group: Group, name: str, steps: int, step: int) -> None:
        """Add a group of runs, which starts or resumes after ``step``."""
        with self._lock:
            bar = self._bars.add_task(name, total=steps, completed=step, news="") if self._live else None
            self._running[id(group[0])] = Running(name, steps, len(group), step, bar)
            if step and not self._live:
                self._console.print(f"{name}: resumes after step {step}", soft_wrap=True)
            self._headline()

    def tick(self, group: Group, t: int) -> None:
        run = self._running[id(group[0])]
        now = time.monotonic()
        if now - run.seen < PATIENCE_S:
            return
        run.seen, run.step = now, t
        if self._live:
            self._headline()
            self._bars.update(run.bar, completed=t, news=run.news(t))  # type: ignore[arg-type]
        elif now - run.said > MILESTONE_S:
            run.said = now
            self._console.print(f"{run.name}: step {t} of {run.steps}, {run.news(t)}", soft_wrap=True)

    def wait(self, group: Group, reason: str) -> None:
        run = self._running[id(group[0])]
        if self._live:
            self._bars.update(run.bar, news=reason)  # type: ignore[arg-type]
        else:
            self._console.print(f"{run.name}: {reason}", soft_wrap=True)

    def record(self, group: Group, r: int, row: Row) -> None:
        self._running[id(group[0])].rows[r] = row

    def leave(self, group: Group) -> None:
        """Remove a group."""
        with self._lock:
            run = self._running.pop(id(group[0]), None)
            if run and self._live:
                self._bars.remove_task(run.bar)  # type: ignore[arg-type]

    def end(self, run_id: str, state: str, text: str, steps: int) -> None:
        """Count a run that has ended, now or in an earlier command, and print a line."""
        with self._lock:
            self._ended_steps += steps
            self._states[state] += 1
            self._console.print(f"[{self._states.total()}/{self._total}] {run_id}: {text}", soft_wrap=True)
            self._headline()

    def say(self, text: str) -> None:
        """Print a line above the bars."""
        with self._lock:
            self._console.print(text, soft_wrap=True)

    def _headline(self) -> None:
        if self._live:
            under_way = list(self._running.values())
            running = sum(run.runs for run in under_way)
            made = self._ended_steps + sum(run.step * run.runs for run in under_way)
            counts = [*(f"{count} {state}" for state, count in self._states.items()), f"{running} running"]
            self._sweep.update(self._all, description=f"{', '.join(counts)} of {self._total}", completed=made)


class Running:
    """The progress of one group."""

    def __init__(self, name: str, steps: int, runs: int, step: int, bar: TaskID | None) -> None:
        self.name, self.steps, self.runs, self.step, self.bar = name, steps, runs, step, bar
        self.rows: dict[int, Row] = {}
        self.seen = 0.0
        self.said = self._began = time.monotonic()
        self._first = step

    def news(self, t: int) -> str:
        """Return the median loss and accuracy of the last evaluation, and the steps per second."""
        rate = (t - self._first) / max(1e-9, time.monotonic() - self._began)
        parts = []
        for name, text in (("train_loss", "loss {:.4g}"), ("test_accuracy", "accuracy {:.2f} %")):
            if values := [row[name] for row in list(self.rows.values()) if row[name] is not None]:
                parts.append(("median " if self.runs > 1 else "") + text.format(statistics.median(values)))
        return "  ".join([*parts, f"{rate:.0f} steps/s"])


@contextmanager
def showing_growth(console: Console, title: str, folder: Path) -> Iterator[None]:
    """Show the size of a folder while the body fills it; without a terminal, print one line."""
    if not console.is_terminal:
        console.print(f"{title} …")
        yield
        return
    columns: list[Any] = [TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn()]
    finished = threading.Event()
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as progress:
        task = progress.add_task(title, total=None)

        def look() -> None:
            while not finished.wait(PATIENCE_S):
                progress.update(task, completed=_size(folder))

        watcher = threading.Thread(target=look, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            finished.set()
            watcher.join()


def _size(folder: Path) -> int:
    """Return the bytes of the files in a folder, which may change meanwhile."""
    total = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            total += 0 if path.is_symlink() else path.stat().st_size
    return total


@contextmanager
def counting(console: Console, words: str) -> Iterator[Callable[[int, int], None]]:
    """Yield a function that shows its two arguments in ``words``, as in "composing {} of {} configurations".

    A terminal has one line that changes, a file a line every few seconds. Nothing is printed about quick work.
    """
    began = shown = time.monotonic()
    line = console.status("") if console.is_terminal else None

    def tell(made: int, of: int) -> None:
        nonlocal shown
        now, first = time.monotonic(), shown == began
        if now - shown < (SOON_S if first else PATIENCE_S if line else COUNT_S) or (line is None and of < MANY):
            return
        shown = now
        if line is None:
            console.print(f"{words.format(made, of)} …")
            return
        line.update(f"{words.format(made, of)} …")
        if first:
            line.start()

    try:
        yield tell
    finally:
        if line is not None:
            line.stop()
