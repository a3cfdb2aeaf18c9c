"""The part of the W&B server that `wandb agent` talks to: one sweep, which hands out runs one after another."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from tests.helpers.wandb_api import Api, Reader
from tests.helpers.wandb_stub import serving


class SweepServer(Api):
    """``runs``: the values of each run's parameters; ``path`` is that of the sweep's yaml."""

    def __init__(self, path: Path, runs: Sequence[dict[str, Any]]) -> None:
        super().__init__()
        self.RequestHandlerClass = Controller
        self.yaml, self.program = path.read_text(), "bench/run.py"
        self.waiting = [(f"trial{number}", values) for number, values in enumerate(runs)]


class Controller(Reader):
    server: SweepServer

    def graphql(self, body: dict[str, Any]) -> dict[str, Any]:
        query = body["query"]
        if "SweepWithRuns" in query:
            return {"project": {"sweep": {"id": "s", "config": self.server.yaml, "runs": {"edges": []}}}}
        if "createAgent" in query:
            return {"createAgent": {"agent": {"id": "a"}}}
        if "agentHeartbeat" in query:
            under_way = any(json.loads(body["variables"]["runState"]).values())
            commands = [] if under_way else [self._next()]
            return {"agentHeartbeat": {"agent": {"id": "a"}, "commands": json.dumps(commands)}}
        return super().graphql(body)

    def _next(self) -> dict[str, Any]:
        if not self.server.waiting:
            return {"type": "exit"}
        name, values = self.server.waiting.pop(0)
        args = {key: {"value": value} for key, value in values.items()}
        return {"type": "run", "run_id": name, "program": self.server.program, "args": args}


def sweep_server(path: Path, runs: Sequence[dict[str, Any]]) -> AbstractContextManager[SweepServer]:
    return serving(SweepServer(path, runs))
