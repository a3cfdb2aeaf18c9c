"""The part of the W&B server that a run talks to, on this machine's loopback."""

from __future__ import annotations

import gzip
import json
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar


class Stub(ThreadingHTTPServer):
    """How it behaves: ``fine``, ``slow`` (half a second an answer), ``errors`` (500), ``silent`` (never)."""

    daemon_threads = True

    def __init__(self, behavior: str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.behavior = behavior
        self.history: dict[str, dict[int, dict[str, Any]]] = {}
        self.runs: dict[str, dict[str, Any]] = {}
        self.exits: dict[str, int] = {}
        self.summaries: dict[str, dict[str, Any]] = {}
        self.over = threading.Event()

    def handle_error(self, *_: object) -> None:
        """A client that hangs up is its own business."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Stub

    def answer(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.headers.get("content-encoding") == "gzip":
            raw = gzip.decompress(raw)
        match self.server.behavior:
            case "silent":
                self.server.over.wait()
                return
            case "errors":
                return self.reply(500, {"error": "broken"})
            case "slow":
                time.sleep(0.5)
        body = json.loads(raw) if raw[:1] == b"{" else {}
        if self.path == "/graphql":
            return self.reply(200, {"data": self.graphql(body)})
        if self.path.endswith("/file_stream"):
            self.stream(self.path.split("/")[-2], body)
        return self.reply(200, {})

    do_GET = do_POST = do_PUT = answer

    def graphql(self, body: dict[str, Any]) -> dict[str, Any]:
        query, given = body["query"], body.get("variables") or {}
        if "UpsertBucket" in query:
            name = given["name"]
            self.server.runs.setdefault(name, {}).update({k: v for k, v in given.items() if v is not None})
            project = {"id": "p", "name": given.get("project") or "hearsay", "entity": {"id": "e", "name": "me"}}
            bucket = {"id": "b", "name": name, "displayName": given.get("displayName"), "project": project}
            return {"upsertBucket": {"bucket": bucket, "inserted": True}}
        if "RunResumeStatus" in query:
            kept = self.server.history.get(given["name"])
            if not kept:
                return {"model": {"id": "p", "name": "hearsay", "entity": {"id": "e", "name": "me"}, "bucket": None}}
            tail = json.dumps([json.dumps(kept[max(kept)])])
            bucket = {"id": "b", "name": given["name"], "historyLineCount": len(kept), "historyTail": tail}
            rest = {"eventsTail": "[]", "eventsLineCount": 0, "logLineCount": 0, "summaryMetrics": "{}", "config": "{}"}
            more = {"displayName": "", "tags": [], "notes": "", "wandbConfig": "{}"}
            entity = {"id": "e", "name": "me"}
            return {"model": {"id": "p", "name": "hearsay", "entity": entity, "bucket": {**bucket, **rest, **more}}}
        if "CreateRunFiles" in query:
            files = [{"name": name, "uploadUrl": f"{self.server.url}/upload/{name}"} for name in given["files"]]
            return {"createRunFiles": {"runID": "b", "uploadHeaders": [], "files": files}}
        return {}

    def stream(self, run: str, body: dict[str, Any]) -> None:
        if "exitcode" in body:
            self.server.exits[run] = body["exitcode"]
        for name, file in (body.get("files") or {}).items():
            if name == "wandb-history.jsonl":
                for number, line in enumerate(file["content"], file["offset"]):
                    self.server.history.setdefault(run, {})[number] = json.loads(line)
            if name == "wandb-summary.json" and file["content"]:
                self.server.summaries[run] = json.loads(file["content"][-1])

    def reply(self, code: int, value: Any) -> None:
        raw = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_: object) -> None:
        pass


S = TypeVar("S", bound=Stub)


@contextmanager
def serving(server: S) -> Iterator[S]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.over.set()
        server.shutdown()
        server.server_close()


def stub(behavior: str) -> AbstractContextManager[Stub]:
    return serving(Stub(behavior))
