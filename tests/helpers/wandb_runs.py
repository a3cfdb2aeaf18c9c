"""W&B runs as the library returns them, without a server."""

from __future__ import annotations

import zlib
from types import SimpleNamespace
from typing import Any

from analysis.results import from_wandb
from analysis.results.results import Results

LABELS = {"algo": "dsgd", "topology": "ring", "dataset": "digits", "seed": 0, "nodes": 4, "steps": 2}
ROWS = ({"step": 0, "train_loss": 1.0}, {"step": 2, "train_loss": 0.5})


def wandb_run(name: str, rows: Any = ROWS, state: str | None = "done", **summary: Any) -> SimpleNamespace:
    """Return a run with these rows as its history; ``state`` is that of its summary."""
    config = {**LABELS, "run_id": name, "seed": zlib.crc32(name.encode())}  # no run is a copy of another
    summary |= {} if state is None else {"state": state}
    return SimpleNamespace(config=config, summary=summary, state="finished", history=lambda **_: [*rows])


def loaded(monkeypatch: Any, *runs: SimpleNamespace) -> Results:
    """Return the results of a project with these runs."""
    monkeypatch.setattr(from_wandb, "unreachable", lambda: None)
    monkeypatch.setattr(from_wandb.wandb, "Api", lambda **_: SimpleNamespace(runs=lambda *_, **__: runs))
    return from_wandb.load_wandb("me/project")
