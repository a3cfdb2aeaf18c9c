"""Read runs from a W&B project: the same results as from their folder."""

from __future__ import annotations

import math
import urllib.error
import urllib.request
from typing import Any

import pandas as pd
import wandb

from analysis.results.clashes import clashing
from analysis.results.columns import in_cells
from analysis.results.complete import are_steps
from analysis.results.errors import NoData
from analysis.results.results import GROUPS, SETTINGS, Results
from bench.base import renamed
from bench.base.account import OF_AGENT, base_url
from bench.store.kinds import LONGEST_NAME, MANIFEST, NEEDED, ROW, SUMMARY, odd, twice
from bench.store.record import FACTS, FINAL, HOW, TAKEN, cut_short

PATIENCE_S = 10
EVALUATIONS = 100_000
"""More evaluations than any run has, so that W&B returns the complete history."""
KEPT = ("certificate", "edges", *FACTS)
"""Entries of a W&B config that come from the manifest and are no labels."""
WITH_PREFIX = frozenset(("algo", "seed", *GROUPS, *SETTINGS, *HOW, *TAKEN))
"""Names of options that a label has behind ``algo.``. The labels of other options are their bare names."""
NONFINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
"""Numbers that W&B returns as texts, since JSON has no notation for them."""


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
    rows, reasons = list[dict[str, Any]](), dict[str, str]()  # the reasons by unreadable run
    try:
        for run in wandb.Api(timeout=PATIENCE_S).runs(target, per_page=100, lazy=False):
            config = renamed.columns(_without_agent(run.config))
            if "algo" not in config or "run_id" not in config:
                continue  # not a run of this suite
            name = config["run_id"]
            plain = {key: value for key, value in config.items() if key not in KEPT}
            lacking = next((f"has no '{need}'" for need in NEEDED if need not in {*plain, "state"}), None)
            if wrong := odd(plain, SUMMARY) or odd(_facts(config), MANIFEST) or twice(plain) or lacking:
                reasons[str(name)[:LONGEST_NAME]] = f"its config {wrong}"
                continue
            state = str(run.summary.get("state", run.state))[:LONGEST_NAME]
            one = run, renamed.columns({**in_cells(plain), "state": state}), _facts(config)
            if name not in newest or _age(*one) >= _age(*newest[name]):
                newest[name] = one  # several trials of a W&B sweep may have the same run
        for name, (run, labeled, _) in newest.items():
            mine = [_metrics(entry) for entry in run.history(samples=EVALUATIONS, pandas=False)]
            if wrong := _odd_rows(mine, labeled, run.summary.get("step")):
                reasons[name] = wrong
            else:
                rows += [{"run_id": name, **row} for row in mine]
    except Exception as error:  # a server may answer anything
        raise NoData(f"W&B did not return the runs of {target}: {' '.join(str(error).split())[:300]}") from error
    labels = [one for name, (_, one, _) in newest.items() if name not in reasons]
    columns = {one["run_id"]: set[str]() for one in labels}
    for row in rows:
        columns[row["run_id"]] |= row.keys() - {"run_id"}
    if bad := clashing((columns[one["run_id"]], {one["run_id"]: one}) for one in labels):
        labels, rows = ([one for one in some if one["run_id"] not in bad] for some in (labels, rows))
        reasons |= dict(sorted(bad.items()))
    if not labels:
        some = next((f" that can be read: {name}: {reason}" for name, reason in reasons.items()), "")
        raise NoData(f"the W&B project {target} has no run of this suite{some}")
    facts = {one["run_id"]: newest[one["run_id"]][2] for one in labels}
    table = pd.DataFrame(labels).sort_values("run_id", ignore_index=True)
    evaluations = pd.DataFrame(rows, columns=None if rows else ["run_id", "step"])
    order = evaluations.sort_values(["run_id", "step"], kind="stable", ignore_index=True)
    first = ["run_id", "algo"]
    table = table[[*first, *sorted(c for c in table.columns if c not in first)]]  # a server may change the order
    return Results(table, order, facts, [*reasons], f"wandb:{target}", reasons=reasons)


def _without_agent(config: dict[str, Any]) -> dict[str, Any]:
    """Return the entries of a config without those of W&B and the parameters of `wandb agent` that are no labels.

    Earlier versions did not write the names of these parameters.
    """
    named = config.get(OF_AGENT)
    ours = {key: value for key, value in config.items() if not (type(named) is list and key in named)}
    twins = {f"algo.{name}" for name in ours if name not in WITH_PREFIX}  # algo.eta beside the label eta
    return {key: value for key, value in ours.items() if key not in twins and not key.startswith("_")}


def _metrics(entry: Any) -> dict[str, Any]:
    """Return the metrics in an entry of the history; none if it is no object."""
    if type(entry) is not dict:
        return {}
    metrics = {key: value for key, value in entry.items() if not key.startswith("_") and key != "topology"}
    return renamed.columns(
        {key: NONFINITE.get(value, value) if type(value) is str else value for key, value in metrics.items()}
    )


def _odd_rows(rows: list[dict[str, Any]], labels: dict[str, Any], recorded: Any) -> str | None:
    """Describe the first invalid or missing evaluation of a run, if any: a history may contain anything."""
    for row in rows:
        if wrong := odd(row, ROW) or ("has no step" if "step" not in row else None):
            return f"an evaluation {wrong}"
    if not are_steps([row["step"] for row in rows]):
        return "its steps are not increasing"
    return cut_short(labels, rows[-1]["step"], recorded) if rows else None


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
