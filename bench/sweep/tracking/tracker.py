"""The runner's side of tracking: messages to another process, for which no run ever waits."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from bench.base.account import has_agent, ignored, mode_of_environment
from bench.base.awake import Awake
from bench.base.home import ROOT
from bench.sweep.tracking.agent import parameters

SILENCE_S = {"online": 2.0, "offline": 30.0}
"""Seconds without an answer after which the end of a sweep no longer waits for the tracker."""
START_S = 60.0
"""Seconds that the first answer may take, since the tracker imports a large library."""


class Tracker:
    """The tracker of tracker=none, which does nothing."""

    def begin(self, run: Path, live: bool) -> None: ...

    def end(self, run: Path) -> None: ...

    def close(self, say: Callable[[str], None]) -> None: ...


class WandbTracker(Tracker):
    """The tracker of tracker=wandb: a separate process writes the W&B runs."""

    def __init__(self, results: Path, options: dict[str, Any], alone: bool) -> None:
        """``alone``: the command has one run."""
        self._results = results
        self._began = time.monotonic()
        self._open: set[str] = set()  # ended, but not yet confirmed
        self._trouble: dict[str, str] = {}
        self._news: queue.Queue[dict[str, Any] | None] = queue.Queue()
        where = {"WANDB_PROJECT": options["project"] or "hearsay", "WANDB_ENTITY": options["entity"] or ""}
        visible = {name: value for name, value in os.environ.items() if name not in ignored(alone)}
        chosen = json.dumps(parameters() if alone else {}, default=str)
        self._scratch = tempfile.TemporaryDirectory(prefix="hearsay-", ignore_cleanup_errors=True)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.sweep.tracking.process", *where.values(), chosen],
            cwd=ROOT,
            env={**where, **visible, "TMPDIR": self._scratch.name},  # W&B leaves folders there
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C must not reach it
        )
        self._outbox: queue.Queue[dict[str, Any]] = queue.Queue()  # a tracker that does not read must not block runs
        for work in (self._listen, self._write):
            threading.Thread(target=work, daemon=True).start()

    def begin(self, run: Path, live: bool) -> None:
        self._outbox.put({"run": str(run), "live": live})

    def end(self, run: Path) -> None:
        self._open.add(str(run))
        self._outbox.put({"run": str(run), "end": True})

    def _write(self) -> None:
        assert self._process.stdin is not None
        with suppress(OSError, ValueError):  # the process has ended
            while True:
                os.write(self._process.stdin.fileno(), json.dumps(self._outbox.get()).encode() + b"\n")

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with suppress(ValueError):
                self._news.put(json.loads(line))
        self._news.put(None)

    def close(self, say: Callable[[str], None]) -> None:
        """Wait while the tracker writes runs, then end it; ``say`` reports runs that were not uploaded."""
        try:
            self._wait(say)
        finally:  # also when interrupted
            self._process.terminate()
            try:
                self._process.wait(timeout=1)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._scratch.cleanup()

    def _wait(self, say: Callable[[str], None]) -> None:
        patience = max(SILENCE_S["online"], START_S - (time.monotonic() - self._began))  # until it is ready
        clock, last = Awake(), 0.0
        while self._open:
            try:
                news, last = self._news.get(timeout=0.1), clock()
            except queue.Empty:
                if clock() - last > patience:
                    break
                continue
            if news is None:
                break
            if "ready" in news:
                patience = SILENCE_S["online" if news["ready"] != "offline" and not has_agent() else "offline"]
            if "trouble" in news:
                self._trouble[news.get("run", "")] = news["trouble"]
            self._open.discard(news.get("run", ""))
        lost = len(self._open | {run for run in self._trouble if run})
        if lost:
            reason = f" ({next(iter(self._trouble.values()))})" if self._trouble else ""
            runs = "1 run was" if lost == 1 else f"{lost} runs were"
            say(f"{runs} not uploaded to W&B{reason}. To upload: python bench/sync.py {self._results}")


class Trackers(Tracker):
    """The trackers of a sweep. Runs with the same tracker settings share one."""

    def __init__(self, asked: Mapping[Path, tuple[str, dict[str, Any], Path]], alone: bool = False) -> None:
        """``asked``: name and options of the tracker and results folder, by run folder. ``alone``: there is one run."""
        made: dict[str, Tracker] = {}
        self._of: dict[Path, Tracker] = {}
        for run, (name, options, results) in asked.items():
            key = repr((name, options, results))
            if key not in made:
                made[key] = WandbTracker(results, options, alone) if tracks(name) else Tracker()
            self._of[run] = made[key]
        self._all = list(made.values())

    def begin(self, run: Path, live: bool) -> None:
        self._of[run].begin(run, live)

    def end(self, run: Path) -> None:
        self._of[run].end(run)

    def close(self, say: Callable[[str], None]) -> None:
        with ExitStack() as stack:  # closes all, also if one is interrupted
            for tracker in reversed(self._all):
                stack.callback(tracker.close, say)


def tracks(name: str) -> bool:
    """Whether this tracker writes W&B runs; WANDB_MODE=disabled turns it off."""
    return name == "wandb" and mode_of_environment() != "disabled"
