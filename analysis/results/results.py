"""The input of figures, tables and reports: runs, their evaluations and their manifests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from analysis.results.errors import NoData, perhaps
from bench.base import renamed
from bench.store.record import COLUMNS, DERIVED, DIVERGING_FROM, FINAL, LATER, SINCE
from bench.store.software import software

HOW = ("engine", "tracker", "checkpoint_every", "ranks", "jobs", "device", "results", "data_dir", "force", "stale")
"""Labels that say how a run was made; so do those that begin with one of them and a dot."""
OUTCOME = ("run_id", "seed", "state", "replicas", "rho", "heterogeneity", "fingerprint")
GROUPS = ("topology", *LATER, "dataset", "partition", "model")


@dataclass(frozen=True, eq=False)
class Results:
    """The runs of a results folder, the first argument of a figure, table or statistic.

    Attributes:
        runs: One row per run, with its labels.
        rows: One row per run and evaluation, with its metrics.
        facts: The manifest of each run, by its name.
        unreadable: The runs that could not be read.
        source: The path or project that the runs come from.
        folder: The results folder; None for an archive and for W&B, whose run folders are not read.
    """

    runs: pd.DataFrame
    rows: pd.DataFrame
    facts: dict[str, dict[str, Any]]
    unreadable: list[str]
    source: str
    folder: Path | None = None

    def __post_init__(self) -> None:
        if taken := {name: f"algo.{name}" for name in (*DERIVED, "fingerprint") if name in self.runs}:
            object.__setattr__(self, "runs", self.runs.rename(columns=taken))  # as runs of this version have them
        later = {name: before for name, before in SINCE.items() if name in self.runs and self.runs[name].isna().any()}
        if later:  # runs from before a choice was there, beside runs from after
            object.__setattr__(self, "runs", self.runs.fillna(later).infer_objects())

    @cached_property
    def options(self) -> list[str]:
        """Labels that are options of the methods: they have no prefix, or that of the method, and are no setting."""
        names = list(self.runs.columns)
        if "topology" not in names:
            return []
        settings = {
            "nodes",
            "steps",
            "batch_size",
            "scale",
            "input_scale",
            "validation",
            "schedule_nodes",
            "init",
            "sampling",
            "dtype",
            "eval_every",
            "eval_samples",
            "eval_spacing",
        }
        known = {"algo", *GROUPS, *settings, *HOW, *OUTCOME}
        return [name for name in names if name.startswith("algo.") or ("." not in name and name not in known)]

    @cached_property
    def numbers(self) -> list[str]:
        """Those of the options that are real numbers: what a method may be tuned over."""
        return [name for name in self.options if self.runs[name].dtype.kind == "f"]

    @cached_property
    def problem(self) -> list[str]:
        """Labels that say what is solved: two runs that agree in them differ in method, seed or place alone."""
        out = set(self.options) | set(OUTCOME) | {"algo"}
        return [c for c in self.runs.columns if c not in out and c.partition(".")[0] not in HOW]

    @cached_property
    def copies(self) -> list[str]:
        """Ended runs with all settings and the seed of an earlier one."""
        ended = self.runs[self.runs["state"].isin(FINAL)] if len(self.runs) else self.runs
        labels = [c for c in ("algo", "seed", *self.problem, *self.options) if c in ended]
        return list(ended["run_id"][ended.duplicated(labels)]) if labels else []

    @cached_property
    def finals(self) -> pd.DataFrame:
        """A row per ended run: its labels and its last evaluation. Copies of a run count once."""
        ended = self.runs[self.runs["state"].isin(FINAL)] if len(self.runs) else self.runs
        ended = ended[~ended["run_id"].isin(self.copies)] if self.copies else ended
        if ended.empty or self.rows.empty:
            raise NoData("no run has ended" if len(self.runs) else "there are no runs")
        last = self.rows.drop_duplicates("run_id", keep="last")
        table = self.described(ended.merge(last, on="run_id", how="inner"))
        diverging = (table["state"] == "diverging") | table["run_id"].isin(self._risen_by(DIVERGING_FROM))
        table = table.assign(diverging=diverging, above_start=table["run_id"].isin(self._risen_by(0.0)))
        return table.copy()  # in one piece, from which many parts are taken

    def _risen_by(self, factor: float) -> set[str]:
        """Runs that ended so many times their start above it, whatever their state says: older diverging ones are
        called done."""
        if "train_loss" not in self.rows:
            return set()
        first, last = (
            self.rows.drop_duplicates("run_id", keep=which).set_index("run_id")["train_loss"].astype(float)
            for which in ("first", "last")
        )
        return set(first.index[(last - first > factor * first.abs()) & (first != 0)])

    @cached_property
    def declared(self) -> dict[str, dict[str, Any]]:
        """What every method says of itself, from the manifests."""
        found: dict[str, dict[str, Any]] = {}
        for run, algo in zip(self.runs.get("run_id", []), self.runs.get("algo", []), strict=True):
            said = self.facts.get(run, {}).get("algorithm") or {}
            if algo not in found and said.get("name") == algo:
                found[algo] = {renamed.PROPERTIES.get(name, name): value for name, value in said.items()}
        return found

    @cached_property
    def measures(self) -> dict[str, dict[str, Any]]:
        """Metrics that plug-ins brought, with what their runs say of them."""
        said: dict[str, dict[str, Any]] = {}
        for fact in self.facts.values():
            said.update(fact.get("metrics") or {})
        return {name: said.get(name, {}) for name in self.rows.columns if name not in (*COLUMNS, "run_id")}

    @cached_property
    def _places(self) -> dict[Any, np.ndarray]:
        """Where in ``rows`` each run's are."""
        return self.rows.groupby("run_id", sort=False).indices

    def course(self, run: str, metric: str) -> tuple[np.ndarray, np.ndarray]:
        """The steps of a run's evaluations, and a metric at each; none where there are none."""
        there = self._places.get(run, np.empty(0, dtype=int))
        return self.rows["step"].to_numpy()[there], self.rows[metric].to_numpy()[there]

    def curves(self, finals: pd.DataFrame) -> pd.DataFrame:
        """All evaluations of these runs, with their labels."""
        labels = finals[[c for c in (*self.runs.columns, "rho", "diverging") if c in finals]]
        return self.rows.merge(labels, on="run_id", how="inner")

    def of(self, finals: pd.DataFrame) -> Results:
        """Only these runs."""
        runs = self.runs[self.runs["run_id"].isin(finals["run_id"])]
        return replace(self, runs=runs, rows=self.rows[self.rows["run_id"].isin(runs["run_id"])])

    def described(self, table: pd.DataFrame) -> pd.DataFrame:
        """With what the manifests know: ρ, the measured heterogeneity, the fingerprint of the source."""
        facts = [self.facts.get(run, {}) for run in table["run_id"]]
        return table.assign(
            rho=[_number((fact.get("mixing") or {}).get("rho")) for fact in facts],
            heterogeneity=[_number(fact.get("heterogeneity")) for fact in facts],
            fingerprint=[fact.get("fingerprint") for fact in facts],
        )

    def where(self, conditions: Iterable[tuple[str, list[str]]]) -> Results:
        """Only the runs whose label is one of the values."""
        conditions = list(conditions)
        keep = pd.Series(True, index=self.runs.index)
        for typed, values in conditions:
            label = renamed.column(typed)
            values = [renamed.STATES.get(value, value) if label == "state" else value for value in values]
            if label not in self.runs:
                there = f"{perhaps(label, self.runs.columns)}; there are {', '.join(self.runs.columns)}"
                raise NoData(f"no run has a label '{label}'{there}")
            keep &= self.runs[label].map(lambda value, values=values: _is_one_of(value, values))
        if len(self.runs) and not keep.any():
            asked = " ".join(f"{label}={','.join(values)}" for label, values in conditions)
            raise NoData(f"none of the {len(self.runs)} runs has {asked}")
        return self._kept(keep)

    def without(self, versions: Iterable[tuple[str, list[str]]]) -> Results:
        """Leave out the runs made with these versions of the core, of a file or of a library."""
        facts = [self.facts.get(run, {}) for run in self.runs["run_id"]]
        made = [{"fingerprint": fact.get("fingerprint"), **software(fact)} for fact in facts]
        keep = pd.Series(True, index=self.runs.index)
        for name, old in versions:
            there = pd.Series([one.get(name) for one in made], index=self.runs.index, dtype=object)
            if wrong := [version for version in old if version not in set(there)]:
                known = ", ".join(f"{name}={version}" for version in there.dropna().unique()) or "none"
                raise NoData(f"no run was made with {name}={wrong[0]}; of {name} there are {known}")
            keep &= ~there.isin(old)
        return self._kept(keep)

    def _kept(self, keep: pd.Series) -> Results:
        runs = self.runs[keep].reset_index(drop=True)
        return replace(self, runs=runs, rows=self.rows[self.rows["run_id"].isin(runs["run_id"])])


def _is_one_of(value: Any, words: list[str]) -> bool:
    """As it is written on the command line: 0.10 is 0.1, null is nothing."""
    for word in words:
        if str(value).lower() == word.lower() or (word == "null" and value is None):
            return True
        try:
            if not isinstance(value, str | bool | None) and float(value) == float(word):
                return True
        except (TypeError, ValueError):
            pass
    return False


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else float("nan")


def together(parts: Sequence[Results]) -> Results:
    """Several as one; where two have a run, that of the first stands."""
    if len(parts) == 1:
        return parts[0]
    runs, rows, seen = [], [], set[str]()
    facts: dict[str, dict[str, Any]] = {}
    for part in parts:
        fresh = part.runs[~part.runs["run_id"].isin(seen)] if len(part.runs) else part.runs
        names = set(fresh["run_id"]) if len(fresh) else set()
        runs.append(fresh)
        rows.append(part.rows[part.rows["run_id"].isin(names)])
        facts |= {run: part.facts[run] for run in names if run in part.facts}
        seen |= names
    return Results(
        pd.concat(runs, ignore_index=True),
        pd.concat(rows, ignore_index=True),
        facts,
        [one for part in parts for one in part.unreadable],
        ", ".join(part.source for part in parts),
    )
