"""Runs read back from a W&B project: the same tidy results as from the folder they were made in."""

from __future__ import annotations

import urllib.error
import urllib.request
from typing import Any

import pandas as pd
import wandb

from analysis.results.errors import NoData
from analysis.results.results import Results
from bench.base import renamed
from bench.base.account import base_url
from bench.store.kinds import LONGEST_NAME, MANIFEST, NEEDED, SUMMARY, odd
from bench.store.record import FACTS

PATIENCE_S = 10
EVALUATIONS = 100_000
"""More than any run has: W&B gives all of a history that is shorter than what is asked for."""
KEPT = ("certificate", "edges", *FACTS)
"""Entries of a W&B config that are no labels but come from the run's manifest."""


def unreachable() -> str | None:
    """Why no server will answer, asked without the library's long patience."""
    base = base_url()
    try:
        urllib.request.urlopen(base, timeout=PATIENCE_S).close()
    except urllib.error.HTTPError:
        return None  # an answer is an answer
    except (OSError, ValueError) as error:
        return f"{base} cannot be reached ({error})"
    return None


def load_wandb(target: str) -> Results:
    """All runs of ENTITY/PROJECT that this suite made."""
    if target.count("/") != 1:
        raise NoData(f"a W&B project is ENTITY/PROJECT; got {target!r}")
    if trouble := unreachable():
        raise NoData(trouble)
    labels, rows, facts, odd_ones = [], [], {}, []
    try:
        for run in wandb.Api(timeout=PATIENCE_S).runs(target, per_page=100, lazy=False):
            config = renamed.columns({key: value for key, value in run.config.items() if not key.startswith("_")})
            if "algo" not in config or "run_id" not in config:
                continue  # somebody else's
            name = config["run_id"]
            plain = {key: value for key, value in config.items() if key not in KEPT}
            if odd(plain, SUMMARY) or odd(_facts(config), MANIFEST) or not {*NEEDED} <= {*plain, "state"}:
                odd_ones.append(str(name)[:LONGEST_NAME])
                continue
            labels.append(renamed.columns({**plain, "state": str(run.summary.get("state", run.state))[:LONGEST_NAME]}))
            facts[name] = _facts(config)
            rows += [{"run_id": name, **_metrics(entry)} for entry in run.history(samples=EVALUATIONS, pandas=False)]
    except Exception as error:  # whatever a server may answer
        raise NoData(f"W&B did not give the runs of {target}: {' '.join(str(error).split())[:300]}") from error
    if not labels:
        raise NoData(f"the W&B project {target} holds no run of this suite")
    table = pd.DataFrame(labels).sort_values("run_id", ignore_index=True)
    evaluations = pd.DataFrame(rows, columns=None if rows else ["run_id", "step"])
    order = evaluations.sort_values(["run_id", "step"], kind="stable", ignore_index=True)
    return Results(_with_topology_in_place(table), order, facts, odd_ones, f"wandb:{target}")


def _metrics(entry: dict[str, Any]) -> dict[str, Any]:
    return renamed.columns(
        {key: value for key, value in entry.items() if not key.startswith("_") and key != "topology"}
    )


def _facts(config: dict[str, Any]) -> dict[str, Any]:
    """What the manifest said, as far as the run's config kept it."""
    certificate = config.get("certificate") or {}
    mixing = {**certificate, "edge_list": config["edges"]} if config.get("edges") is not None else certificate
    kept = {key: config.get(key) for key in FACTS}
    more = {"mixing": mixing, **{key: config.get(key) for key in ("engine", "device", "ranks", "replicas")}}
    return {key: value for key, value in {**kept, **more}.items() if value is not None}


def _with_topology_in_place(table: pd.DataFrame) -> pd.DataFrame:
    """A server may give back the labels in any order: theirs here is the alphabet's."""
    first = [c for c in ("run_id", "algo") if c in table]
    return table[[*first, *sorted(c for c in table.columns if c not in first)]]
