"""One folder per run. Every file is written atomically and verified when read."""

from __future__ import annotations

import itertools
import os
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bench.base.errors import Failure, Misfit, UserError
from bench.base.evaluation import final_state
from bench.base.unique_yaml import yaml_text
from bench.store import earlier
from bench.store.disk import make_lasting
from bench.store.files import line_of, lock_of, sha256, stream_of, write_json, write_text
from bench.store.integrity import START, SUMS, examine, read_file
from bench.store.locks import Lock
from bench.store.parquet import parquet
from bench.store.record import Row
from bench.store.regular import NOT_REGULAR, append, content_of, is_regular, make_folder, no_link, remove, write_bytes
from bench.store.stored_run import IDENTITY, C, StoredRun

DAMAGED = "damaged"
"""The folder for damaged files, in a run folder."""
REPLACED = ("config.yaml", "metrics.parquet", "log.txt")
"""The files of an unfinished run that ``examine`` does not open."""
TAPE = "tape"
"""In the manifest: the digest of the events of an asynchronous run."""
REMEMBERED = 20
"""Maximal length of a list of orders in status.json."""


class LockLost(Failure):
    """Another process took this one for dead and computes the run itself."""


class RunFolder(StoredRun[C]):
    """A run folder that this process may write to after ``claim``."""

    def __init__(self, config: C, order: str | None = None) -> None:
        """``order``: the id of the order that this process works for, if any."""
        super().__init__(config)
        self._order = order
        self._orders: list[str] = []
        self._failed_in: list[str] = []
        self._rows: list[Row] = []
        self._marks: dict[str, Any] = {}
        self._manifest: dict[str, Any] = {}
        self._digest = ""  # of the stream's last line
        self.start = ""  # the id of the start from step 0
        self.lock = Lock(lock_of(self.path))

    def claim(self) -> bool:
        """Lock the run until ``release`` or the end of this process; False if another process holds the lock."""
        no_link(no_link(self.path.parent) / self.path.name)
        if not self.lock.take():
            return False
        status = self.status()
        self._orders = self._with_ours(status.get("orders", []))
        self._failed_in = status.get("failed_in", [])
        return True

    def _with_ours(self, orders: Sequence[str]) -> list[str]:
        """Add our order, if any, to the end of a list."""
        others = [order for order in orders if order != self._order]
        return [*others, *filter(None, [self._order])][-REMEMBERED:]

    def must_be_ours(self) -> None:
        """Raise LockLost if another process has taken over the run; called before every change."""
        if self.lock.lost:
            raise LockLost(f"{self.path.name} was taken over by another process.")

    def release(self) -> None:
        self.lock.release()

    def _set_aside(self, damage: Mapping[str, str]) -> str | None:
        """Move damaged files to damaged/, and return a sentence about them."""
        if not self.path.exists():
            return None
        odd = [name for name in REPLACED if os.path.lexists(self.path / name) and not is_regular(self.path / name)]
        wrong = {**dict.fromkeys(odd, f"cannot be used: {NOT_REGULAR}"), **self.wrong(examine(self.path)), **damage}
        if not wrong:
            return None
        place = self.path / DAMAGED
        if place.is_symlink() or not place.is_dir():
            remove(place)
        make_folder(place)
        for path in (self.path / name for name in {*wrong, "metrics.parquet"}):  # they are computed again
            if os.path.lexists(path):  # links, FIFOs and folders are moved, too, and not opened
                names = (place / f"{path.name}.{n}" for n in itertools.count())
                path.replace(next(name for name in names if not os.path.lexists(name)))
        reasons = "; ".join(f"{name} {reason}" for name, reason in wrong.items())
        return f"{self.path.name}: {reasons}. Moved to {place}."

    def begin(
        self, facts: Mapping[str, Any], step: int = 0, rows: Sequence[Row] = (), damage: Mapping[str, str] | None = None
    ) -> str | None:
        """Start from step 0, replacing earlier files, or resume after ``step`` with the evaluations ``rows``.
        ``facts`` go into the manifest. ``damage`` is the damage of the checkpoints, by file name. Returns a sentence
        about damaged files, if there were any.
        """
        self.must_be_ours()
        if self.config.run_id != self.path.name:
            raise UserError(f"A file of {self.path.name} was edited since this command was started. Start it again.")
        before, damaged = self.manifest(), self._set_aside(damage or {})
        make_folder(self.path, parents=True)
        self.start = before.get("start", "") if step else uuid.uuid4().hex
        self._manifest = {"run_id": self.path.name, IDENTITY: self.config.identity, "start": self.start, **facts}
        self._marks = {"replicas": facts.get("replicas", 1)}
        self._rows = list(rows)
        self._set_state("running")  # first, so that no reader takes the old files for a finished run
        if step:
            self._manifest["resumed"] = [*before.get("resumed", []), step]
            self._manifest["heterogeneity"] = before.get("heterogeneity")
            self._manifest |= {TAPE: before[TAPE]} if TAPE in before else {}
        else:
            for name in ("metrics.jsonl", "log.txt"):
                remove(self.path / name)
            remove(self.checkpoints)
        (self.path / "metrics.parquet").unlink(missing_ok=True)
        text, self._digest = stream_of(self._rows, self.path.name)
        write_text(self.stream, text, self.must_be_ours)
        write_text(self.path / "config.yaml", yaml_text(self.config.plain()), self.must_be_ours)
        write_json(self.path / "manifest.json", self._manifest, self.must_be_ours)
        if damaged:
            self.log(damaged)
        verb = f"resumes after step {step}" if step else "starts"
        self.log(f"{self.config.run_id} {verb}: {self.config.steps} steps, engine {self.row_labels()['engine']}")
        return damaged

    def learn(self, facts: Row) -> None:
        """Add facts that are known only before the first step to the manifest."""
        self.must_be_ours()
        if facts.get(TAPE, self._manifest.get(TAPE)) != self._manifest.get(TAPE, facts.get(TAPE)):
            raise Misfit("The checkpoint belongs to another order of events.")
        self._manifest |= facts
        write_json(self.path / "manifest.json", self._manifest, self.must_be_ours)

    def record(self, row: Row) -> None:
        """Append one evaluation to metrics.jsonl."""
        self.must_be_ours()
        self._rows.append(row)
        line, self._digest = line_of(row, self._digest)
        append(self.stream, line)
        self._set_status("running")

    def finish(self, state: str, step: int) -> str:
        """Write metrics.parquet and the final summary, and return the final state. Call ``settle`` afterwards."""
        self.must_be_ours()
        state = final_state(state, self._rows)
        content = parquet(self._rows)
        write_bytes(self.path / "metrics.parquet", content, self.must_be_ours)
        config = content_of(self.path / "config.yaml")
        sums = {"config.yaml": sha256(config), "metrics.parquet": sha256(content), START: self.start}
        self._set_state(state, sums=sums)
        self.log(f"{state} at step {step}")
        return state

    def tidy(self) -> None:
        """Complete a finished run whose process was killed or lost its lock at the very end.

        A killed process leaves metrics.jsonl, checkpoints and earlier results. A process that lost its lock while it
        was writing may leave the state ``running`` in status.json.
        """
        left = self.stream.exists() or self.checkpoints.exists() or earlier.has_earlier(self.path)
        if left or self.status().get("state") != self.state:
            self._amend(self._complete)

    def _complete(self) -> None:
        if self.status().get("state") != self.state:
            self._rows = [read_file(self.path, "summary.json")]
            self._set_status(self.state)
        settle([self])

    def join(self, sweep: str | None) -> bool:
        """Add a later sweep to the manifest; False if it is there already or cannot be written."""
        manifest = self.manifest()
        if not manifest or sweep in (None, manifest.get("sweep"), *manifest.get("also", [])):
            return False

        def add() -> None:
            now = self.manifest()
            also = [*now.get("also", []), sweep]
            write_json(self.path / "manifest.json", {**now, "also": also}, self.must_be_ours)

        return self._amend(add)

    def _amend(self, change: Callable[[], None]) -> bool:
        """Change a finished run under its lock; False if another process computes it or it cannot be written."""
        before = self.lock.taken
        try:
            if not self.claim():
                return False
            try:
                if final := self.final:  # another process may have begun to repeat it
                    change()
            finally:
                if not before:
                    self.release()
        except (OSError, RecursionError, LockLost):  # a read-only folder, or a forged manifest with too many levels
            return False
        return final

    def fail(self, error: str, details: str) -> None:
        """Mark the run as failed, with a sentence and the details for log.txt."""
        make_folder(self.path, parents=True)  # it may have failed before ``begin``
        self.log(f"{error}\n{details}")
        self._failed_in = self._with_ours(self._failed_in)
        self._set_state("failed", error)

    def interrupt(self) -> None:
        """Mark the run as interrupted; its rows and checkpoints stay."""
        make_folder(self.path, parents=True)
        self.log("interrupted")
        self._set_state("interrupted")

    def log(self, text: str) -> None:
        append(self.path / "log.txt", f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text.rstrip()}\n")

    def _set_state(self, state: str, error: str | None = None, sums: dict[str, str] | None = None) -> None:
        last = {**(self._rows[-1] if self._rows else {}), **({SUMS: sums} if sums else {})}
        summary = {**self.row_labels(), **self._marks, "state": state, **last}
        write_json(self.path / "summary.json", summary, self.must_be_ours)
        self._set_status(state, error)

    def _set_status(self, state: str, error: str | None = None) -> None:
        step = self._rows[-1]["step"] if self._rows else 0
        status = {"state": state, "step": step, "error": error, "time": time.time()}
        orders = {"orders": self._orders, "failed_in": self._failed_in}
        write_json(self.path / "status.json", {**status, **orders}, self.must_be_ours)


def settle(folders: Sequence[RunFolder[Any]]) -> None:
    """Sync the files of these finished runs to disk, then remove their streams, checkpoints and earlier results."""
    if folders:
        make_lasting([folder.path for folder in folders])
    for folder in (folder for folder in folders if not folder.lock.lost):
        earlier.forget(folder.path)
        remove(folder.stream)
        remove(folder.checkpoints)
