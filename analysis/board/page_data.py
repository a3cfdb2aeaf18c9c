"""The data of the page: methods, standings, profiles, and the curves and commands of every cell."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from analysis.board.cells import Curve
from analysis.board.choose import OPTION
from analysis.board.hidden import extremes
from analysis.board.scores import profiles
from analysis.board.study import Study
from analysis.board.targets import aims_of
from analysis.results.results import Results
from bench.base.board import Entrant, Workload

FACTORS = tuple(float(2.0**power) for power in np.arange(-3, 3.01, 0.25))
"""Costs relative to tuned D-SGD at which the page draws profiles."""
OF_RUN = ("steps", "eval_every", "eval_spacing", "dtype")
"""Settings of a cell's command that its runs have and the workload may not state."""


def page_data(study: Study) -> dict[str, Any]:
    """Return all that the page shows, as lists and dictionaries without NaN."""
    board = study.board
    names = list(dict.fromkeys(study.standings["method"]))
    beside = study.side if study.sealed is None else {**study.side, "sealed": study.sealed.standings}
    return {
        "strata": list(dict.fromkeys(board.strata.values())),
        "prices": list(dict.fromkeys(study.standings["price"])),
        "factors": FACTORS,
        "methods": {name: _method(study, name) for name in names},
        "standings": _records(study.standings),
        "tries": {str(name): _rounded(some["score"]) for name, some in study.tries.groupby("method", sort=False)},
        "profiles": [{**one, "solved": _rounded(one["solved"])} for one in profiles(board, study.scored, FACTORS)],
        "hidden": {name: [_plain(value) for value in one] for name, one in extremes(study.hidden).items()},
        "cells": _cells(study),
        "side": {name: _records(table) for name, table in beside.items()},
        "labels": {name: study.label(name) for table in beside.values() for name in table["method"]},
    }


def _method(study: Study, entrant: str) -> dict[str, Any]:
    """Return what the page says and filters by: the declaration of the method."""
    said = study.results.declared.get(study.algo(entrant), {})
    return {
        "label": study.label(entrant),
        "bound": entrant in study.board.bounds,
        "native": study.board.everyone[entrant].native is not None,
        "ranked": study.ranked(entrant),
        "family": said.get("family", study.algo(entrant)),
        "needs": list(said.get("needs", ())),
        "provenance": said.get("provenance", "unstated"),
        "costs": [said.get(key) for key in ("vectors_per_step", "rounds", "gradients")],
        "scale_free": bool(said.get("scale_free")),
        "cite": said.get("cite", ""),
    }


def _cells(study: Study) -> list[dict[str, Any]]:
    """Return one entry per ruleset, workload and entrant: its scores by price, a median curve and the command."""
    out, labels = [], study.results.runs.set_index("run_id")
    frozen = study.targets.set_index("workload", drop=False)
    aims = {
        name: aims_of(frozen.loc[name].to_dict(), runs, study.curves) for name, runs in study.scored.groupby("workload")
    }
    for (ruleset, workload, name), runs in study.scored.groupby(["ruleset", "workload", "entrant"], sort=False):
        first = runs["price"].iloc[0]
        ours = runs[runs["price"] == first]
        out.append(
            {
                "ruleset": ruleset,
                "workload": workload,
                "method": name,
                "setting": ours["setting"].iloc[0],
                "scores": {str(p): round(float(some["score"].mean()), 3) for p, some in runs.groupby("price")},
                "missed": int(ours["missed"].sum()),
                "targets": study.board.targets * len(ours),
                "diverged": int(ours["diverged"].sum()),
                **_curve([(study.curves[run], aims[workload][seed]) for run, seed in _pairs(ours)]),
                "command": command(
                    study.results,
                    study.board.workloads[str(workload)],
                    study.board.everyone[str(name)],
                    ours["values"].iloc[0],
                    labels.loc[ours["run_id"].iloc[0]],
                    [int(seed) for seed in ours["seed"]],
                ),
            }
        )
    return out


def _pairs(runs: pd.DataFrame) -> Iterable[tuple[str, int]]:
    return zip(runs["run_id"], runs["seed"], strict=True)


def _curve(runs: list[tuple[Curve, tuple[float, float]]]) -> dict[str, Any]:
    """Return the median over the seeds of (F − F_ref)/(F_0 − F_ref) by gradients, up to the first end of a run."""
    length = min(len(curve.losses) for curve, _ in runs)
    parts = np.stack([(curve.losses[:length] - end) / (start - end) for curve, (start, end) in runs])
    with np.errstate(invalid="ignore"):
        median = np.median(parts, axis=0)
    return {"x": _rounded(runs[0][0].gradients[:length]), "y": _rounded(median)}


def command(
    results: Results,
    workload: Workload,
    entrant: Entrant,
    values: Mapping[str, Any],
    labels: pd.Series,
    seeds: list[int],
) -> str:
    """Return the command that repeats the runs of a cell."""
    own = {key: labels[key] for key in OF_RUN if key in labels and pd.notna(labels[key])}
    chosen = {OPTION + name: value for name, value in values.items()}
    settings = {**workload.set, **own, **entrant.set, "algo": entrant.method, **chosen}
    words = [f"{key}={_word(value)}" for key, value in settings.items()]
    several = ["-m"] if len(seeds) > 1 else []
    words.append(f"seed={','.join(map(str, sorted(seeds)))}")
    return shlex.join(["python", "bench/run.py", *several, *words])


def _word(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return str(bool(value)).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(k): _plain(v) for k, v in row.items()} for row in table.to_dict("records")]


def _plain(value: Any) -> Any:
    """Return a value that JSON has: null for NaN, four digits of a float."""
    if isinstance(value, float | np.floating):
        return float(f"{value:.4g}") if np.isfinite(value) else None
    return value.item() if isinstance(value, np.generic) else value


def _rounded(values: Any) -> list[Any]:
    return [_plain(float(value)) for value in values]
