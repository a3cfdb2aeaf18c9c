"""Show the progress of runs that other processes compute, from their folders."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench.base.errors import shortened
from bench.config.run_config import RunConfig
from bench.store.files import check_rows
from bench.store.integrity import read_file
from bench.store.record import FINAL
from bench.sweep.cluster.order import Order
from bench.sweep.cluster.slurm import NoQueue
from bench.sweep.groups import name_of
from bench.terminal.console import Console
from bench.terminal.display import Display

LOOK_S = 0.5
"""Seconds between two looks at the run folders."""
ASK_S = 5.0
"""Seconds between two queries of the queue."""


class Watched:
    """A group of runs of an order."""

    def __init__(self, configs: Sequence[RunConfig], runs: Path, order: str) -> None:
        self._configs = {config.run_id: config for config in configs}
        self._runs, self._order = runs, order
        self._shown, self._step = False, -1
        self._left = list(self._configs)
        self._before = {run: self._read(run) for run in self._left}

    def look(self, display: Display) -> bool:
        """Show changes; returns whether runs are left."""
        statuses = {run: self._status(run) for run in self._left}
        running = [run for run, status in statuses.items() if status.get("state") == "running"]
        ended = {run: status for run, status in statuses.items() if status.get("state") in (*FINAL, "failed")}
        if self._shown and not running:
            display.leave([self])
            self._shown = False
        for run, status in ended.items():
            state, error = status["state"], status.get("error")
            text = f"failed: {shortened(error)}" if error else f"{state} at step {status['step']}"
            display.end(run, state, text, self._configs[run].steps)
            self._left.remove(run)
        if running:
            self._show(display, running, max(statuses[run]["step"] for run in running))
        return bool(self._left)

    def _show(self, display: Display, running: Sequence[str], step: int) -> None:
        if not self._shown:
            configs = [self._configs[run] for run in running]
            resumed = read_file(self._runs / running[0], "manifest.json").get("resumed") or [0]
            display.begin([self, *running[1:]], name_of(configs), configs[0].steps, resumed[-1])
            self._shown = True
        if step != self._step:
            self._step = step
            for r, run in enumerate(running):
                if rows := check_rows(self._runs / run / "metrics.jsonl")[0]:
                    display.record([self], r, rows[-1])
            display.tick([self], step)

    def _status(self, run: str) -> dict[str, Any]:
        """Return the status if it is of this order or has changed; else an empty one."""
        status = self._read(run)
        return status if self._order in status.get("orders", []) or status != self._before[run] else {}

    def _read(self, run: str) -> dict[str, Any]:
        return read_file(self._runs / run, "status.json")


def follow(order: Order, runs: Path, console: Console, over: Callable[[], str | None]) -> None:
    """Show progress until every run of the order has ended, or the queue has no worker left.

    ``over`` returns the state of the queue, None if no worker is left. If it raises NoQueue, it is called again later.
    """
    groups = [Watched(configs, runs, order.id) for configs in order.groups]
    with Display(console, [config.steps for config in order.configs]) as display:
        asked, before = -ASK_S, ""
        while sum(group.look(display) for group in groups):
            if time.monotonic() - asked > ASK_S:
                asked = time.monotonic()
                try:
                    stands = over()
                except NoQueue as error:
                    stands = f"Queue: {error}"
                if stands is None:
                    break
                if stands not in ("", before):
                    before = stands
                    display.say(stands)
            time.sleep(LOOK_S)
        for group in groups:
            group.look(display)  # changes since the last look
