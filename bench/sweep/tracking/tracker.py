"""The runner's side of tracking: tell another process, and never wait for it while runs are made."""

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

SILENCE_S = {"online": 2.0, "offline": 30.0}
"""Seconds without news after which the end of a sweep no longer waits for the tracker: a server may never answer."""
START_S = 60.0
"""Seconds that its first news may take: it imports a large library, perhaps from a slow disk beside much other work."""


class Tracker:
    """tracker=none: nothing is told to nobody."""

    def begin(self, run: Path, live: bool) -> None: ...

    def end(self, run: Path) -> None: ...

    def close(self, say: Callable[[str], None]) -> None: ...

    def abandon(self) -> None: ...


class WandbTracker(Tracker):
    """tracker=wandb: a process of its own writes the W&B runs."""

    def __init__(self, results: Path, options: dict[str, Any], alone: bool) -> None:
        """``alone``: the command has one run."""
        self._results = results
        self._began = time.monotonic()
        self._open: set[str] = set()  # ended, and not yet heard of
        self._trouble: dict[str, str] = {}
        self._news: queue.Queue[dict[str, Any] | None] = queue.Queue()
        where = {"WANDB_PROJECT": options["project"] or "hearsay", "WANDB_ENTITY": options["entity"] or ""}
        seen = {name: value for name, value in os.environ.items() if name not in ignored(alone)}
        words = [sys.executable, "-m", "bench.sweep.tracking.process", *where.values()]
        self._scratch = tempfile.TemporaryDirectory(prefix="hearsay-", ignore_cleanup_errors=True)
        self._process = subprocess.Popen(
            words,
            cwd=ROOT,
            env={**where, **seen, "TMPDIR": self._scratch.name},  # W&B's own folders there go with it
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the runner
        )
        self._outbox: queue.Queue[dict[str, Any]] = queue.Queue()  # a tracker that does not read is not waited for
        for work in (self._listen, self._write):
            threading.Thread(target=work, daemon=True).start()

    def begin(self, run: Path, live: bool) -> None:
        self._tell({"run": str(run), "live": live})

    def end(self, run: Path) -> None:
        self._open.add(str(run))
        self._tell({"run": str(run), "end": True})

    def _tell(self, message: dict[str, Any]) -> None:
        self._outbox.put(message)

    def _write(self) -> None:
        assert self._process.stdin is not None
        with suppress(OSError, ValueError):  # it is gone
            while True:
                os.write(self._process.stdin.fileno(), json.dumps(self._outbox.get()).encode() + b"\n")

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with suppress(ValueError):
                self._news.put(json.loads(line))
        self._news.put(None)

    def close(self, say: Callable[[str], None]) -> None:
        """Wait for what is still to be written, as long as something is being written."""
        try:
            self._wait(say)
        finally:  # also when interrupted
            self.abandon()

    def _wait(self, say: Callable[[str], None]) -> None:
        patience = max(SILENCE_S["online"], START_S - (time.monotonic() - self._began))  # until it is ready
        clock, heard = Awake(), 0.0
        while self._open:
            try:
                news, heard = self._news.get(timeout=0.1), clock()
            except queue.Empty:
                if clock() - heard > patience:
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

    def abandon(self) -> None:
        """Let go. Everything it has finished is on disk."""
        self._process.terminate()
        try:
            self._process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._scratch.cleanup()


class Trackers(Tracker):
    """Those of a sweep: every run has the one that it asks for, and runs that ask for the same share it."""

    def __init__(self, asked: Mapping[Path, tuple[str, dict[str, Any], Path]], alone: bool = False) -> None:
        """``asked`` has for every run folder the name and the options of its tracker, and the results folder;
        ``alone``: the command has one run."""
        made: dict[str, Tracker] = {}
        self._of: dict[Path, Tracker] = {}
        for run, wanted in asked.items():
            if (key := repr(wanted)) not in made:
                made[key] = make_tracker(*wanted, alone)
            self._of[run] = made[key]
        self._all = list(made.values())

    def begin(self, run: Path, live: bool) -> None:
        self._of[run].begin(run, live)

    def end(self, run: Path) -> None:
        self._of[run].end(run)

    def close(self, say: Callable[[str], None]) -> None:
        with ExitStack() as stack:  # each is closed, also when another is interrupted
            for tracker in reversed(self._all):
                stack.callback(tracker.close, say)

    def abandon(self) -> None:
        for tracker in self._all:
            tracker.abandon()


def make_tracker(name: str, options: dict[str, Any], results: Path, alone: bool) -> Tracker:
    """A tracker by its name."""
    return WandbTracker(results, options, alone) if tracks(name) else Tracker()


def tracks(name: str) -> bool:
    """Whether this tracker writes W&B runs. WANDB_MODE=disabled is W&B's own way to say none."""
    return name == "wandb" and mode_of_environment() != "disabled"
