"""How a sweep is going: bars for people who wait, lines for those who read later."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Sequence
from types import TracebackType

from rich.console import Group as Stack
from rich.live import Live
from rich.progress import (
    BarColumn,
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

PATIENCE_S = 0.1
"""Seconds between looks at a bar;"""
MILESTONE_S = 30.0
"""and between lines about one run, where there is no terminal."""


WIDE = 110
"""Columns of a terminal from which on a running group has a bar beside its numbers."""
Group = Sequence[object]
"""Runs that are made together, whatever stands for them."""


class Display:
    """How a sweep is going. With a terminal: a bar for the sweep and one for each running group."""

    def __init__(self, console: Console, steps: Sequence[int]) -> None:
        """``steps`` has those of every run."""
        self._console, self._total = console, len(steps)
        self._lock = threading.Lock()
        self._count = 0
        self._made = 0  # steps of the runs that have ended, whoever made them
        self._states: dict[str, int] = {}
        self._running: dict[int, Running] = {}
        self._live: Live | None = None
        if console.is_terminal:
            text = TextColumn("{task.description}", markup=False)
            self._sweep = Progress(
                text, BarColumn(30), TextColumn("{task.percentage:3.0f} %"), TimeElapsedColumn(), TimeRemainingColumn()
            )
            name = TextColumn("{task.description}", markup=False, table_column=Column(overflow="ellipsis"))
            bar = [BarColumn(20)] if console.width >= WIDE else []  # where it is narrow names are cut, no numbers
            count = MofNCompleteColumn(table_column=Column(no_wrap=True))
            self._bars = Progress(name, *bar, count, TextColumn("{task.fields[news]}"))
            self._all = self._sweep.add_task("", total=sum(steps))
            self._live = Live(Stack(self._sweep, self._bars), console=console, transient=True)

    def __enter__(self) -> Display:
        if self._live:
            self._live.start()
            self._headline()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self._live:
            self._live.stop()

    def begin(self, group: Group, name: str, steps: int, step: int) -> None:
        """A group of runs starts, or goes on after ``step``."""
        with self._lock:
            bar = self._bars.add_task(name, total=steps, completed=step, news="") if self._live else None
            self._running[id(group[0])] = Running(name, steps, len(group), step, bar)
            if step and not self._live:
                self._console.print(f"{name}: goes on after step {step}", soft_wrap=True)
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
        """A group is not running any more."""
        with self._lock:
            run = self._running.pop(id(group[0]), None)
            if run and self._live:
                self._bars.remove_task(run.bar)  # type: ignore[arg-type]

    def end(self, run_id: str, state: str, text: str, steps: int) -> None:
        """One run has come to its end, now or before, after all of its ``steps`` or fewer: none are left to make."""
        with self._lock:
            self._count += 1
            self._made += steps
            self._states[state] = self._states.get(state, 0) + 1
            line = f"[{self._count}/{self._total}] {run_id}: {text}"
            self._console.print(line, soft_wrap=True)
            self._headline()

    def say(self, text: str) -> None:
        """A line above the bars."""
        with self._lock:
            self._console.print(text, soft_wrap=True)

    def _headline(self) -> None:
        if self._live:
            under_way = list(self._running.values())
            running = sum(run.runs for run in under_way)
            made = self._made + sum(run.step * run.runs for run in under_way)
            parts = [f"{count} {state}" for state, count in self._states.items()]
            words = ", ".join([*parts, f"{running} running"])
            self._sweep.update(self._all, description=f"{words} of {self._total}", completed=made)


class Running:
    """What is known of a group under way."""

    def __init__(self, name: str, steps: int, runs: int, step: int, bar: TaskID | None) -> None:
        self.name, self.steps, self.runs, self.step, self.bar = name, steps, runs, step, bar
        self.rows: dict[int, Row] = {}
        self.seen = 0.0
        self.said = self._began = time.monotonic()
        self._first = step

    def news(self, t: int) -> str:
        """Loss and accuracy at the last evaluation, in the middle of the group, and the pace."""
        rate = (t - self._first) / max(1e-9, time.monotonic() - self._began)
        middle = {name: self._median(name) for name in ("train_loss", "test_accuracy")}
        words = {"train_loss": "loss {:.4g}", "test_accuracy": "accuracy {:.2f} %"}
        whose = "median " if self.runs > 1 else ""
        parts = [whose + words[name].format(value) for name, value in middle.items() if value is not None]
        return "  ".join([*parts, f"{rate:.0f} steps/s"])

    def _median(self, name: str) -> float | None:
        values = [row[name] for row in list(self.rows.values()) if row[name] is not None]
        return statistics.median(values) if values else None
