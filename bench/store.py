"""The run store: one folder per run, every file written whole or not at all."""

from __future__ import annotations

import fcntl
import json
import os
import platform
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from importlib.metadata import version
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import torch
import yaml

from bench import __version__, checkpoint
from bench.build import describe_data
from bench.config import RunConfig
from bench.files import lock_of, read_json, read_rows, write_bytes, write_json, write_text
from bench.fingerprint import fingerprint
from bench.loop import Outcome, evaluation_steps
from bench.metrics import COLUMNS, Row
from bench.states import FINAL, final_state

COUNTS = {"step", "samples", "rounds", "vectors", "bytes"}
SCHEMA = pa.schema([(name, pa.int64() if name in COUNTS else pa.float64()) for name in COLUMNS])


class RunFolder:
    """``<results>/runs/<run_id>/`` of one run."""

    def __init__(self, config: RunConfig) -> None:
        self.config = config
        self.path = Path(config.results).resolve() / "runs" / config.run_id
        self.checkpoints = self.path / "checkpoint"
        self._rows: list[Row] = []
        self._marks: dict[str, Any] = {}
        self._lock: TextIOWrapper | None = None

    def status(self) -> dict[str, Any]:
        """What status.json says; an empty dictionary where there is none to read."""
        return read_json(self.path / "status.json")

    def summary(self) -> dict[str, Any]:
        """Labels, state and latest metrics, whatever became of the run."""
        return read_json(self.path / "summary.json") or {**self._labels(), "state": "missing"}

    def _labels(self) -> dict[str, Any]:
        """A file that the configuration names may have changed since: the folder's name stands."""
        return {**self.config.labels(), "run_id": self.path.name}

    def manifest(self) -> dict[str, Any]:
        return read_json(self.path / "manifest.json")

    @property
    def final(self) -> bool:
        """Whether there is nothing left to do: the state says so and the metrics are there."""
        return self.status().get("state") in FINAL and _is_parquet(self.path / "metrics.parquet")

    @property
    def stale(self) -> bool:
        """Whether what is there was made by another source."""
        made_by = self.manifest().get("fingerprint")
        return made_by is not None and made_by != fingerprint(self.config)

    def claim(self) -> bool:
        """Make this run ours until ``release`` or the end of this process; False where it is another process's."""
        path = lock_of(self.path)
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = path.open("a")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            return False
        self._lock = lock
        return True

    def release(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def resume_point(self) -> tuple[int, list[Row]] | None:
        """The step to go on from and the rows up to there; None where only the start is left."""
        if self.config.force or self.stale:
            return None
        rows = read_rows(self.path / "metrics.jsonl")
        due = evaluation_steps(self.config.steps, self.config.eval_every, self.config.eval_spacing)
        for step in checkpoint.steps(self.checkpoints, self.config.nodes):
            kept = [row for row in rows if row["step"] <= step]
            if [row["step"] for row in kept] == [t for t in due if t <= step]:
                return step, kept
        return None

    def begin(
        self,
        ranks: int = 1,
        replicas: int = 1,
        rows: list[Row] | None = None,
        sweep: str | None = None,
        varies: Sequence[str] = (),
    ) -> None:
        """Start afresh, replacing what an earlier try left; or go on after ``rows``.

        With ``replicas`` the run is one of a group, and its seconds are its part of the group's.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        manifest = {**describe(self.config), "ranks": ranks, "replicas": replicas}
        manifest |= {"sweep": sweep, "varies": list(varies)}
        self._marks = {"replicas": replicas}
        if rows:
            before = self.manifest()
            manifest["resumed"] = [*before.get("resumed", []), rows[-1]["step"]]
            manifest["heterogeneity"] = before.get("heterogeneity")
        else:
            for name in ("metrics.jsonl", "log.txt"):
                (self.path / name).unlink(missing_ok=True)
            checkpoint.discard(self.checkpoints)
        (self.path / "metrics.parquet").unlink(missing_ok=True)
        self._rows = list(rows or [])
        write_text(self.path / "metrics.jsonl", "".join(json.dumps(row) + "\n" for row in self._rows))
        write_text(self.path / "config.yaml", yaml.safe_dump(self.config.plain(), sort_keys=False))
        write_json(self.path / "manifest.json", manifest)
        self._set_state("running")
        verb = f"goes on after step {rows[-1]['step']}" if rows else "starts"
        self.log(f"{self.config.run_id} {verb}: {self.config.steps} steps, engine {self.config.engine.name}")

    def learn(self, facts: Row) -> None:
        """What was found out about the run before its first step: into the manifest."""
        write_json(self.path / "manifest.json", {**self.manifest(), **facts})

    def record(self, row: Row) -> None:
        """One evaluation: kept on disk from now on."""
        self._rows.append(row)
        with (self.path / "metrics.jsonl").open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(row) + "\n")
        self._set_status("running")

    def finish(self, outcome: Outcome) -> Outcome:
        """The stream becomes one parquet file, the last row the summary; the outcome, by all its rows."""
        outcome = replace(outcome, state=final_state(outcome.state, self._rows))
        columns = {name: [row[name] for row in self._rows] for name in COLUMNS}
        sink = pa.BufferOutputStream()
        pq.write_table(pa.table(columns, schema=SCHEMA), sink)
        write_bytes(self.path / "metrics.parquet", sink.getvalue().to_pybytes())
        self._set_state(outcome.state)
        self.log(f"{outcome.state} at step {outcome.step}")
        (self.path / "metrics.jsonl").unlink(missing_ok=True)
        checkpoint.discard(self.checkpoints)
        return outcome

    def join(self, sweep: str | None) -> bool:
        """Note that a later sweep has this run, too; False where that is known or cannot be written."""
        manifest = self.manifest()
        also = manifest.get("also", [])
        if not manifest or sweep in (None, manifest.get("sweep"), *also):
            return False
        try:
            write_json(self.path / "manifest.json", {**manifest, "also": [*also, sweep]})
        except OSError:
            return False
        return True

    def fail(self, error: str, details: str) -> None:
        """The run stopped for a reason that is not the mathematics': a sentence, and what to read about it."""
        self.log(f"{error}\n{details}")
        self._set_state("failed", error)

    def interrupt(self) -> None:
        """Stopped from outside: what was measured so far stays."""
        self.path.mkdir(parents=True, exist_ok=True)
        self.log("interrupted")
        self._set_state("interrupted")

    def log(self, text: str) -> None:
        with (self.path / "log.txt").open("a", encoding="utf-8") as stream:
            stream.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text.rstrip()}\n")

    def _set_state(self, state: str, error: str | None = None) -> None:
        last = self._rows[-1] if self._rows else {}
        write_json(self.path / "summary.json", {**self._labels(), **self._marks, "state": state, **last})
        self._set_status(state, error)

    def _set_status(self, state: str, error: str | None = None) -> None:
        step = self._rows[-1]["step"] if self._rows else 0
        write_json(self.path / "status.json", {"state": state, "step": step, "error": error, "time": time.time()})


def _is_parquet(path: Path) -> bool:
    """Whether the file begins and ends as it should."""
    try:
        with path.open("rb") as stream:
            head = stream.read(4)
            stream.seek(-4, os.SEEK_END)
            return head == stream.read() == b"PAR1"
    except OSError:
        return False


def describe(config: RunConfig) -> dict[str, Any]:
    """Where the numbers come from: versions, source, machine, and the promises of method and graph."""
    return {
        "versions": {
            "hearsay": __version__,
            "python": platform.python_version(),
            **{name: version(name) for name in ("torch", "numpy")},
        },
        "fingerprint": fingerprint(config),
        "host": {
            "name": platform.node(),
            "machine": platform.machine(),
            "cores": os.cpu_count(),
            **({"gpu": torch.cuda.get_device_name()} if config.device == "cuda" else {}),
        },
        "engine": config.engine.name,
        "device": config.device,
        "algorithm": asdict(config.declaration),
        "mixing": config.mixing().describe(),
        "data": describe_data(config),
    }
