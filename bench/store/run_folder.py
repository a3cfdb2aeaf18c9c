"""One folder per run: every file is written whole or not at all, and compared with its digest when read."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import yaml

from bench.base.errors import Failure
from bench.store.disk import make_lasting
from bench.store.files import line_of, lock_of, sha256, stream_of, write_json, write_text
from bench.store.integrity import SUMS, examine, read_file
from bench.store.locks import Lock
from bench.store.metrics_file import parquet
from bench.store.record import Row, final_state
from bench.store.regular import append, content_of, make_folder, no_link, remove, write_bytes
from bench.store.stored_run import C, StoredRun

DAMAGED = "damaged"
"""In a run folder: where files go that are not what was written."""
REMEMBERED = 20
"""Orders that a run's status names."""


class LockLost(Failure):
    """Another process has believed this one dead, and makes the run itself."""


class RunFolder(StoredRun[C]):
    """A run folder that this process may write to, once it has claimed it."""

    def __init__(self, config: C, order: str | None = None) -> None:
        """``order`` is the id of the order, if any, that this process makes the run for."""
        super().__init__(config)
        self._order = order
        self._orders: list[str] = []
        self._rows: list[Row] = []
        self._marks: dict[str, Any] = {}
        self._manifest: dict[str, Any] = {}
        self._digest = ""  # of the stream's last line
        self.lock = Lock(lock_of(self.path))

    def claim(self) -> bool:
        """Make this run ours until ``release`` or the end of this process; False where it is another process's."""
        no_link(no_link(self.path.parent) / self.path.name)
        if not self.lock.take():
            return False
        others = [order for order in orders_of(self.status()) if order != self._order]
        self._orders = [*others, *filter(None, [self._order])][-REMEMBERED:]
        return True

    def must_be_ours(self) -> None:
        """Before every change, but those of who has looked for himself."""
        if self.lock.lost:
            raise LockLost(f"{self.path.name} was taken over by another process.")

    def release(self) -> None:
        self.lock.release()

    def _set_aside(self, damage: Mapping[str, str]) -> str | None:
        """Move what is damaged to where it does no harm and can be looked at, and say so."""
        if not self.path.exists():
            return None
        wrong = {**self.wrong(examine(self.path)), **damage}
        if not wrong:
            return None
        place = make_folder(self.path / DAMAGED)
        for path in (self.path / name for name in {*wrong, "metrics.parquet"}):  # the metrics are made anew
            if os.path.lexists(path):  # a link, a FIFO and a folder, too, are moved and not opened
                path.replace(place / f"{path.name}.{len(list(place.glob(f'{path.name}.*')))}")
        said = "; ".join(f"{name} {what}" for name, what in wrong.items())
        return f"{self.path.name}: {said}. What was there is kept in {place}."

    def begin(
        self, facts: Mapping[str, Any], rows: list[Row] | None = None, damage: Mapping[str, str] | None = None
    ) -> str | None:
        """Start afresh, replacing what an earlier try left; or go on after ``rows``.

        ``facts`` go into the manifest. ``damage`` says what is wrong with the checkpoints, by the names of their files.
        Returns a sentence about all that was found damaged, if anything was.
        """
        self.must_be_ours()
        before, damaged = self.manifest(), self._set_aside(damage or {})
        make_folder(self.path, parents=True)
        self._manifest = {"run_id": self.path.name, **facts}
        self._marks = {"replicas": facts.get("replicas", 1)}
        self._rows = list(rows or [])
        self._set_state("running")  # first: nobody must take the rest for that of a run that has ended
        if rows:
            self._manifest["resumed"] = [*before.get("resumed", []), rows[-1]["step"]]
            self._manifest["heterogeneity"] = before.get("heterogeneity")
        else:
            for name in ("metrics.jsonl", "log.txt"):
                remove(self.path / name)
            remove(self.checkpoints)
        (self.path / "metrics.parquet").unlink(missing_ok=True)
        text, self._digest = stream_of(self._rows, self.path.name)
        write_text(self.stream, text, self.must_be_ours)
        write_text(self.path / "config.yaml", yaml.safe_dump(self.config.plain(), sort_keys=False), self.must_be_ours)
        write_json(self.path / "manifest.json", self._manifest, self.must_be_ours)
        if damaged:
            self.log(damaged)
        verb = f"goes on after step {rows[-1]['step']}" if rows else "starts"
        self.log(f"{self.config.run_id} {verb}: {self.config.steps} steps, engine {self.row_labels()['engine']}")
        return damaged

    def learn(self, facts: Row) -> None:
        """What was found out about the run before its first step: into the manifest."""
        self.must_be_ours()
        self._manifest |= facts
        write_json(self.path / "manifest.json", self._manifest, self.must_be_ours)

    def record(self, row: Row) -> None:
        """One evaluation: kept on disk from now on."""
        self.must_be_ours()
        self._rows.append(row)
        line, self._digest = line_of(row, self._digest)
        append(self.stream, line)
        self._set_status("running")

    def finish(self, state: str, step: int) -> str:
        """The stream becomes one parquet file, the last row the summary; the state, by all rows.

        ``settle`` comes after.
        """
        self.must_be_ours()
        state = final_state(state, self._rows)
        content = parquet(self._rows)
        write_bytes(self.path / "metrics.parquet", content, self.must_be_ours)
        config = content_of(self.path / "config.yaml")
        self._set_state(state, sums={"config.yaml": sha256(config), "metrics.parquet": sha256(content)})
        self.log(f"{state} at step {step}")
        return state

    def tidy(self) -> None:
        """Remove what a finished run no longer needs, and correct a late write of its status.

        A kill at the very end leaves a stream and checkpoints. A process that lost its claim while it was writing may
        leave a status that says ``running``.
        """
        late = self.status().get("state") != self.state
        if self.stream.exists() or self.checkpoints.exists() or late:
            with suppress(OSError):  # results that can only be read are good enough
                if self.claim():
                    try:
                        if late:
                            self._rows = [read_file(self.path, "summary.json")]
                            self._set_status(self.state)
                        settle([self])
                    finally:
                        self.release()

    def join(self, sweep: str | None) -> bool:
        """Note that a later sweep has this run, too; False where that is known or cannot be written."""
        manifest = self.manifest()
        also = manifest.get("also", [])
        if not manifest or sweep in (None, manifest.get("sweep"), *also):
            return False
        try:
            write_json(self.path / "manifest.json", {**manifest, "also": [*also, sweep]})
        except (OSError, RecursionError):  # somebody else's manifest may be nested without end
            return False
        return True

    def fail(self, error: str, details: str) -> None:
        """The run stopped for a reason that is not the mathematics': a sentence, and what to read about it."""
        make_folder(self.path, parents=True)  # it may have failed before it began
        self.log(f"{error}\n{details}")
        self._set_state("failed", error)

    def interrupt(self) -> None:
        """Stopped from outside: what was measured so far stays."""
        make_folder(self.path, parents=True)
        self.log("interrupted")
        self._set_state("interrupted")

    def log(self, text: str) -> None:
        append(self.path / "log.txt", f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text.rstrip()}\n")

    def _set_state(self, state: str, error: str | None = None, sums: dict[str, str] | None = None) -> None:
        last = {**(self._rows[-1] if self._rows else {}), **({SUMS: sums} if sums else {})}
        write_json(
            self.path / "summary.json", {**self.row_labels(), **self._marks, "state": state, **last}, self.must_be_ours
        )
        self._set_status(state, error)

    def _set_status(self, state: str, error: str | None = None) -> None:
        step = self._rows[-1]["step"] if self._rows else 0
        status = {"state": state, "step": step, "error": error, "time": time.time(), "orders": self._orders}
        write_json(self.path / "status.json", status, self.must_be_ours)


def orders_of(status: Mapping[str, Any]) -> list[str]:
    """The ids of the orders whose workers have begun a run, the latest last; earlier versions noted none."""
    found = status.get("orders")
    return found if isinstance(found, list) else []


def settle(folders: Sequence[RunFolder[Any]]) -> None:
    """Once the ends of these runs are on the disk for good, forget what they would have gone on from."""
    if folders:
        make_lasting([folder.path for folder in folders])
    for folder in (folder for folder in folders if not folder.lock.lost):
        remove(folder.stream)
        remove(folder.checkpoints)
