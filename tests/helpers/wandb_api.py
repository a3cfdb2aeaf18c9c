"""The part of the W&B server that is read from, and that reports are saved to: what was uploaded is given back."""

from __future__ import annotations

import base64
import json
from contextlib import AbstractContextManager
from typing import Any

from tests.helpers.wandb_stub import Handler, Stub, serving


class Api(Stub):
    """Also keeps reports, by their id; ``known`` is the one API key it takes."""

    known = "k" * 40

    def __init__(self) -> None:
        super().__init__("fine")
        self.RequestHandlerClass = Reader
        self.views: dict[str, dict[str, Any]] = {}
        self.seen: list[str] = []


class Reader(Handler):
    server: Api

    def graphql(self, body: dict[str, Any]) -> dict[str, Any]:
        query, given = body["query"], body.get("variables") or {}
        self.server.seen.append(query)
        project = {
            "id": "p",
            "internalId": "1",
            "name": "hearsay",
            "entityName": "me",
            "createdAt": "2026-01-01T00:00:00Z",
        }
        if "upsertView" in query:
            name = given["id"] or f"view{len(self.server.views)}"
            inserted = name not in self.server.views
            view = {k: given[k] for k in ("name", "displayName", "description", "type", "spec")}
            self.server.views[name] = {**view, "id": name, "updatedAt": "2026-01-01T00:00:00", "project": project}
            return {"upsertView": {"view": self.server.views[name], "inserted": inserted}}
        if "query Viewer" in query or "GetDefaultEntity" in query:
            known = self.headers.get("authorization", "").endswith(self._basic())
            viewer = {"id": "u", "entity": "me", "username": "me", "email": "", "flags": "{}", "teams": {"edges": []}}
            return {"viewer": viewer if known else None}
        if "ProjectViews" in query:
            nodes = [
                {**view, "user": {"username": "me", "photoUrl": "", "email": ""}, "createdAt": view["updatedAt"]}
                for view in self.server.views.values()
            ]
            return {
                "project": {
                    "allViews": {
                        "edges": [{"node": node, "cursor": "c"} for node in nodes],
                        "pageInfo": {"endCursor": None, "hasNextPage": False},
                    }
                }
            }
        if "ProjectInternalId" in query:
            return {"project": project}
        if "GetProjects" in query:
            return {
                "models": {
                    "edges": [{"node": {**project, "__typename": "Project", "isBenchmark": False, "user": None}}],
                    "pageInfo": {"__typename": "PageInfo", "endCursor": None, "hasNextPage": False},
                }
            }
        if "query Runs" in query:
            nodes = [self.run(name) for name in sorted(self.server.runs)]
            page = {"endCursor": None, "hasNextPage": False}
            return {
                "project": {
                    "internalId": "1",
                    "runCount": len(nodes),
                    "readOnly": False,
                    "runs": {"edges": [{"node": node, "cursor": "c"} for node in nodes], "pageInfo": page},
                }
            }
        if "RunFullHistory" in query:
            rows = self.server.history.get(given["name"], {})
            return {"project": {"run": {"history": [json.dumps(rows[number]) for number in sorted(rows)]}}}
        return super().graphql(body)

    def _basic(self) -> str:
        return base64.b64encode(f"api:{self.server.known}".encode()).decode()

    def run(self, name: str) -> dict[str, Any]:
        kept = self.server.runs[name]
        rows = self.server.history.get(name, {})
        last = rows[max(rows)] if rows else {}
        summary = {**last, **self.server.summaries.get(name, {})}
        times = {"createdAt": "2026-01-01T00:00:00Z", "heartbeatAt": "2026-01-01T00:00:00Z"}
        nothing = dict.fromkeys(("commit", "sweepName", "description", "notes"))
        return {
            "id": name,
            "name": name,
            "displayName": kept.get("displayName"),
            "state": "finished",
            "tags": [],
            "config": kept.get("config") or "{}",
            "summaryMetrics": json.dumps(summary),
            "systemMetrics": "{}",
            "historyKeys": {"lastStep": len(rows) - 1, "sets": [], "keys": {}},
            "historyLineCount": len(rows),
            "projectId": "1",
            "group": kept.get("groupName"),
            "jobType": kept.get("jobType"),
            "user": {"name": "me", "username": "me"},
            "readOnly": False,
            **times,
            **nothing,
        }


def api() -> AbstractContextManager[Api]:
    return serving(Api())
