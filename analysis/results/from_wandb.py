"""Read runs from a W&B project: the same results as from their folder."""

from __future__ import annotations

import urllib.error
import urllib.request
from typing import Any

import pandas as pd
import wandb

from analysis.results.clashes import clashing
from analysis.results.errors import NoData
from analysis.results.results import Results
from bench.base import renamed
from bench.base.account import base_url
from bench.store.kinds import LONGEST_NAME, MANIFEST, NEEDED, SUMMARY, odd, twice
from bench.store.record import FACTS, FINAL

PATIENCE_S = 10
EVALUATIONS = 100_000
"""More evaluations than any run has, so that W&B returns the complete history."""
KEPT = ("certificate", "edges", *FACTS)
"""Entries of a W&B config that come from the manifest and are no labels."""


def unreachable() -> str | None:
    """Return why the server does not answer, or None; the W&B library itself would retry for minutes."""
    base = base_url()
    try:
        urllib.request.urlopen(base, timeout=PATIENCE_S).close()
    except urllib.error.HTTPError:
        return None  # the server answers
    except (OSError, ValueError) as error:
        return f"{base} cannot be reached ({error})"
    return None


def load_wandb(target: str) -> Results:
    """Return the runs of this suite in ENTITY/PROJECT."""
    if target.count("/") != 1:
        raise NoData(f"a W&B project must be ENTITY/PROJECT; got {target!r}")
    if trouble := unreachable():
        raise NoData(trouble)
    newest: dict[str, tuple[Any, dict[str, Any], dict[str, Any]]] = {}  # W&B run, labels and facts, by run_id
    rows, odd_ones = [], []
    try:
        for run in wandb.Api(timeout=PATIENCE_S).runs(target, per_page=100, lazy=False):
            config = renamed.columns({key: value for key, value in run.config.items() if not key.startswith("_")})
            if "algo" not in config or "run_id" not in config:
                continue  # not a run of this suite
            name = config["run_id"]
            plain = {key: value for key, value in config.items() if key not in KEPT}
            wrong = odd(plain, SUMMARY) or odd(_facts(config), MANIFEST) or twice(plain)
            if wrong or not {*NEEDED} <= {*plain, "state"}:
                odd_ones.append(str(name)[:LONGEST_NAME])
                continue
            state = str(run.summary.get("state", run.state))[:LONGEST_NAME]
            one = run, renamed.columns({**plain, "state": state}), _facts(config)
            if name not in newest or _age(*one) >= _age(*newest[name]):
                newest[name] = one  # several trials of a W&B sweep may have the same run
        for name, (run, _, _) in newest.items():
            for entry in run.history(samples=EVALUATIONS, pandas=False):
                metrics = {key: value for key, value in entry.items() if not key.startswith("_") and key != "topology"}
                rows.append({"run_id": name, **renamed.columns(metrics)})
    except Exception as error:  # a server may answer anything
        raise NoData(f"W&B did not return the runs of {target}: {' '.join(str(error).split())[:300]}") from error
    labels = [one for _, one, _ in newest.values()]
    columns = {one["run_id"]: set[str]() for one in labels}
    for row in rows:
        columns[row["run_id"]] |= row.keys() - {"run_id"}
    if bad := clashing((columns[one["run_id"]], {one["run_id"]: one}) for one in labels):
        labels, rows = ([one for one in some if one["run_id"] not in bad] for some in (labels, rows))
        odd_ones += sorted(bad)
    if not labels:
        raise NoData(f"the W&B project {target} has no run of this suite")
    facts = {one["run_id"]: newest[one["run_id"]][2] for one in labels}
    table = pd.DataFrame(labels).sort_values("run_id", ignore_index=True)
    evaluations = pd.DataFrame(rows, columns=None if rows else ["run_id", "step"])
    order = evaluations.sort_values(["run_id", "step"], kind="stable", ignore_index=True)
    first = ["run_id", "algo"]
    table = table[[*first, *sorted(c for c in table.columns if c not in first)]]  # a server may change the order
    return Results(table, order, facts, odd_ones, f"wandb:{target}")


def _age(run: Any, labels: dict[str, Any], _: dict[str, Any]) -> tuple[bool, str]:
    """Return a key by which W&B runs with the same run_id are sorted: finished ones last, and then by their start."""
    return labels["state"] in FINAL, str(getattr(run, "created_at", ""))


def _facts(config: dict[str, Any]) -> dict[str, Any]:
    """Return the entries of the manifest that the config of the run contains."""
    certificate = config.get("certificate") or {}
    mixing = {**certificate, "edge_list": config["edges"]} if config.get("edges") is not None else certificate
    kept = {key: config.get(key) for key in FACTS}
    more = {"mixing": mixing, **{key: config.get(key) for key in ("engine", "device", "ranks", "replicas")}}
    return {key: value for key, value in {**kept, **more}.items() if value is not None}
