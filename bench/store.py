"""The run store: one folder per run, every file written whole or not at all."""

from __future__ import annotations

import json
import math
import os
import platform
import time
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from bench import __version__
from bench.build import describe_data
from bench.config import RunConfig
from bench.fingerprint import fingerprint
from bench.metrics import COLUMNS, Row

COUNTS = {"step", "samples", "rounds", "vectors", "bytes"}
SCHEMA = pa.schema([(name, pa.int64() if name in COUNTS else pa.float64()) for name in COLUMNS])


def write_text(path: Path, text: str) -> None:
    """Replace ``path`` in one move: a reader sees the old text or the new, never a part."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)


def write_json(path: Path, value: Any) -> None:
    write_text(path, json.dumps(_finite(value), indent=1, allow_nan=False) + "\n")


def _finite(value: Any) -> Any:
    """JSON has no NaN: null stands for it."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


class RunFolder:
    """``<results>/runs/<run_id>/`` of one run."""

    def __init__(self, config: RunConfig) -> None:
        self.config = config
        self.path = Path(config.results) / "runs" / config.run_id
        self._rows: list[Row] = []

    def status(self) -> dict[str, Any]:
        """What status.json says; an empty dictionary where there is none to read."""
        return _read(self.path / "status.json")

    def summary(self) -> dict[str, Any]:
        return _read(self.path / "summary.json")

    def manifest(self) -> dict[str, Any]:
        return _read(self.path / "manifest.json")

    def begin(self, ranks: int) -> None:
        """Start afresh: what an earlier try left is replaced."""
        self.path.mkdir(parents=True, exist_ok=True)
        for name in ("metrics.jsonl", "metrics.parquet", "summary.json", "log.txt"):
            (self.path / name).unlink(missing_ok=True)
        self._rows = []
        write_text(self.path / "config.yaml", yaml.safe_dump(self.config.plain(), sort_keys=False))
        write_json(self.path / "manifest.json", describe(self.config, ranks))
        self._set_status("running", 0)
        self.log(f"{self.config.run_id}: {self.config.steps} steps, engine {self.config.engine.name}")

    def learn(self, facts: Row) -> None:
        """What was found out about the run before its first step: into the manifest."""
        write_json(self.path / "manifest.json", {**self.manifest(), **facts})

    def record(self, row: Row) -> None:
        """One evaluation: kept on disk from now on."""
        self._rows.append(row)
        with (self.path / "metrics.jsonl").open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(row) + "\n")
        self._set_status("running", row["step"])

    def finish(self, state: str, step: int) -> None:
        """Done or diverged: the stream becomes one parquet file, the last row the summary."""
        columns = {name: [row[name] for row in self._rows] for name in COLUMNS}
        draft = self.path / ".metrics.parquet"
        pq.write_table(pa.table(columns, schema=SCHEMA), draft)
        draft.replace(self.path / "metrics.parquet")
        (self.path / "metrics.jsonl").unlink(missing_ok=True)
        write_json(self.path / "summary.json", {**self.config.labels(), "state": state, **self._rows[-1]})
        self._set_status(state, step)
        self.log(f"{state} at step {step}")

    def fail(self, error: str, details: str) -> None:
        """The run stopped for a reason that is not the mathematics': a sentence, and what to read about it."""
        self.log(f"{error}\n{details}")
        last = self._rows[-1] if self._rows else {}
        write_json(self.path / "summary.json", {**self.config.labels(), "state": "failed", **last})
        self._set_status("failed", last.get("step", 0), error)

    def interrupt(self) -> None:
        """Stopped from outside: what was measured so far stays."""
        self._set_status("interrupted", self._rows[-1]["step"] if self._rows else 0)

    def log(self, text: str) -> None:
        with (self.path / "log.txt").open("a", encoding="utf-8") as stream:
            stream.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text.rstrip()}\n")

    def _set_status(self, state: str, step: int, error: str | None = None) -> None:
        write_json(self.path / "status.json", {"state": state, "step": step, "error": error, "time": time.time()})


def describe(config: RunConfig, ranks: int) -> dict[str, Any]:
    """Where the numbers come from: versions, source, machine, and the promises of method and graph."""
    return {
        "versions": {
            "hearsay": __version__,
            "python": platform.python_version(),
            **{name: version(name) for name in ("torch", "numpy")},
        },
        "fingerprint": fingerprint(config),
        "host": {"name": platform.node(), "machine": platform.machine(), "cores": os.cpu_count()},
        "engine": config.engine.name,
        "ranks": ranks,
        "device": config.device,
        "algorithm": asdict(config.algorithm.declaration),
        "mixing": config.mixing().describe(),
        "data": describe_data(config),
    }


def _read(path: Path) -> dict[str, Any]:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
