"""The input of figures, tables and reports: runs, their evaluations and their manifests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from analysis.results.columns import with_columns
from analysis.results.contents import contents_of_older_runs, paths_by_content
from analysis.results.declarations import most_frequent
from analysis.results.errors import NoData, perhaps
from analysis.results.numbers import are_numbers, fits_word, missing, with_numbers, with_several_values
from analysis.results.states import risen, with_states
from bench.base import renamed
from bench.store.record import ADDED, COLUMNS, FINAL, HOW, LATER, SINCE, WITH_GROUP
from bench.store.record import NETWORK_S as NETWORK_S
from bench.store.software import TYPED, software

SETTINGS = (
    *("nodes", "steps", "batch_size", "scale", "input_scale", "validation", "schedule_nodes", "init", "sampling"),
    *("dtype", "eval_every", "eval_samples", "eval_spacing"),
)
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
        reasons: Why runs could not be read, by their names, where this is known.
        network: The network of the column ``NETWORK_S``, in words; empty without that column.
    """

    runs: pd.DataFrame
    rows: pd.DataFrame
    facts: dict[str, dict[str, Any]]
    unreadable: list[str]
    source: str
    folder: Path | None = None
    network: str = ""
    reasons: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "runs", with_states(self.runs, self.rows))
        if taken := {name: new for name, new in WITH_GROUP.items() if name in self.runs}:
            object.__setattr__(self, "runs", _with_group(self.runs, taken))
        later = {name: value for name, value in SINCE.items() if name in self.runs and self.runs[name].isna().any()}
        if later:  # some runs are older than a setting: they had its default
            object.__setattr__(self, "runs", self.runs.fillna(later).infer_objects())
        for find in (_of_older_runs, partial(contents_of_older_runs, facts=self.facts), paths_by_content):
            if labels := find(self.runs):
                object.__setattr__(self, "runs", with_columns(self.runs, labels))

    @cached_property
    def options(self) -> list[str]:
        """Labels that are options of methods: without a prefix, or with the prefix ``algo.``, and no settings."""
        names = list(self.runs.columns)
        if "topology" not in names:
            return []
        known = {"algo", *GROUPS, *SETTINGS, *HOW, *OUTCOME}
        return [name for name in names if name.startswith("algo.") or ("." not in name and name not in known)]

    @cached_property
    def numbers(self) -> list[str]:
        """The options that are numbers of some method, real or integer, which it may be tuned over."""
        return [name for name in self.options if are_numbers(with_numbers(self.runs, name)[name])]

    @cached_property
    def several(self) -> dict[str, list[str]]:
        """The options of which each method has two or more values, a missing one among them."""
        return with_several_values(self.runs, self.options)

    def several_in(self, runs: pd.DataFrame) -> list[str]:
        """Return the options of which some method of these runs may have two or more values."""
        found = {name for algo in runs["algo"].unique() for name in self.several.get(algo, [])}
        return [name for name in self.options if name in found and name in runs] if len(runs) > 1 else []

    @cached_property
    def problem(self) -> list[str]:
        """Labels that say what is solved: two runs that agree in them differ in method, seed or place alone."""
        out = set(self.options) | set(OUTCOME) | {"algo"}
        return [c for c in self.runs.columns if c not in out and c.partition(".")[0] not in HOW]

    @cached_property
    def _ended(self) -> pd.DataFrame:
        """Ended runs with evaluations."""
        if self.runs.empty or self.rows.empty:
            return self.runs[:0]
        return self.runs[self.runs["state"].isin(FINAL) & self.runs["run_id"].isin(self.rows["run_id"])]

    @cached_property
    def copies(self) -> list[str]:
        """Ended runs with the same settings and seed as an earlier one."""
        ended = self._ended
        labels = [c for c in ("algo", "seed", *self.problem, *self.options) if c in ended]
        return list(ended["run_id"][ended.duplicated(labels)]) if labels else []

    @cached_property
    def finals(self) -> pd.DataFrame:
        """One row per ended run: its labels and its last evaluation, without copies."""
        ended = self._ended[~self._ended["run_id"].isin(self.copies)]
        if ended.empty or self.rows.empty:
            raise NoData("no run has ended" if len(self.runs) else "there are no runs")
        last = self.rows.drop_duplicates("run_id", keep="last")
        table = self.described(ended.merge(last, on="run_id", how="inner"))
        table = table.assign(above_start=table["run_id"].isin(risen(self.rows, factor=0.0)))
        texts = table.select_dtypes("string").columns
        # one block of objects instead of an Arrow array per column: callers take many parts of the table
        return table.astype(dict.fromkeys(texts, object)).copy()

    @cached_property
    def declared(self) -> dict[str, dict[str, Any]]:
        """The declaration of every method that most of its runs have, from the manifests."""
        return most_frequent(self.said_of_methods)

    @cached_property
    def said_of_methods(self) -> list[tuple[str, dict[str, Any]]]:
        """The declaration of its method by each run that has one."""
        found = []
        for run, algo in zip(self.runs.get("run_id", []), self.runs.get("algo", []), strict=True):
            said = self.facts.get(run, {}).get("algorithm") or {}
            if said.get("name") == algo:
                found.append((algo, {renamed.PROPERTIES.get(name, name): value for name, value in said.items()}))
        return found

    @cached_property
    def measures(self) -> dict[str, dict[str, Any]]:
        """The metrics of plug-ins, with the declarations that most runs have, from the manifests."""
        declared = most_frequent(reversed(self.said_of_metrics))
        others = (*COLUMNS, "run_id", NETWORK_S)
        return {name: declared.get(name, {}) for name in self.rows.columns if name not in others}

    @cached_property
    def said_of_metrics(self) -> list[tuple[str, dict[str, Any]]]:
        return [one for fact in self.facts.values() for one in (fact.get("metrics") or {}).items()]

    @cached_property
    def has_diverging(self) -> bool:
        """Whether some run is diverging."""
        return bool((self.runs["state"] == "diverging").any())

    @cached_property
    def _places(self) -> dict[Any, np.ndarray]:
        """The positions in ``rows`` of each run."""
        return self.rows.groupby("run_id", sort=False).indices

    def course(self, run: str, metric: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the steps of the evaluations of a run, and a metric at each."""
        there = self._places.get(run, np.empty(0, dtype=int))
        return self.rows["step"].to_numpy()[there], self.rows[metric].to_numpy()[there]

    def curves(self, finals: pd.DataFrame) -> pd.DataFrame:
        """Return all evaluations of these runs, with their labels."""
        labels = finals[[c for c in (*self.runs.columns, "rho") if c in finals]]
        there = [self._places[run] for run in labels["run_id"].unique() if run in self._places]
        rows = self.rows.iloc[np.sort(np.concatenate(there))] if there else self.rows.iloc[:0]
        return rows.merge(labels, on="run_id", how="inner")

    def of(self, finals: pd.DataFrame) -> Results:
        """Return only these runs."""
        return self._kept(self.runs["run_id"].isin(finals["run_id"]))

    def described(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return the table with ρ, the heterogeneity and the fingerprint of the source, from the manifests."""
        facts = [self.facts.get(run, {}) for run in table["run_id"]]
        return table.assign(
            rho=[_number((fact.get("mixing") or {}).get("rho")) for fact in facts],
            heterogeneity=[_number(fact.get("heterogeneity")) for fact in facts],
            fingerprint=[fact.get("fingerprint") for fact in facts],
        )

    def where(self, conditions: Iterable[tuple[str, list[str]]]) -> Results:
        """Return only the runs whose labels have one of the given values."""
        conditions = list(conditions)
        keep = pd.Series(True, index=self.runs.index)
        for typed, values in conditions:
            label = renamed.column(typed)
            values = [renamed.STATES.get(value, value) if label == "state" else value for value in values]
            if label not in self.runs:
                known = f"{perhaps(label, self.runs.columns)}; there are {', '.join(self.runs.columns)}"
                raise NoData(f"no run has a label '{label}'{known}")
            fits = {word: self.runs[label].map(lambda value, word=word: fits_word(value, word)) for word in values}
            if wrong := [word for word, which in fits.items() if len(self.runs) and not which.any()]:
                present = sorted({"null" if missing(value) else str(value) for value in self.runs[label]})
                some = ", ".join(present[:10]) + " …" * (len(present) > 10)
                raise NoData(f"no run has {label}={wrong[0]}; the values are {some}")
            keep &= pd.concat(fits.values(), axis=1).any(axis=1)
        if len(self.runs) and not keep.any():
            wanted = " ".join(f"{label}={','.join(values)}" for label, values in conditions)
            raise NoData(f"none of the {len(self.runs)} runs has {wanted}")
        return self._kept(keep)

    def without(self, versions: Iterable[tuple[str, list[str]]]) -> Results:
        """Return the results without runs made with these versions of the core, a file or a library."""
        facts = [self.facts.get(run, {}) for run in self.runs["run_id"]]
        made = [{"fingerprint": fact.get("fingerprint"), **software(fact)} for fact in facts]
        keep = pd.Series(True, index=self.runs.index)
        for name, old in versions:
            there = pd.Series([one.get(name) for one in made], index=self.runs.index, dtype=object)
            if wrong := [version for version in old if version not in set(there)]:
                known = [f"{name}={version}" for version in there.dropna().unique()] or ["none"]
                some = ", ".join(known[:TYPED]) + f" and {len(known) - TYPED} more" * (len(known) > TYPED)
                raise NoData(f"no run was made with {name}={wrong[0]}; the versions are {some}")
            keep &= ~there.isin(old)
        return self._kept(keep)

    def _kept(self, keep: pd.Series) -> Results:
        runs = self.runs[keep].reset_index(drop=True)
        return replace(self, runs=runs, rows=self.rows[self.rows["run_id"].isin(runs["run_id"])])


def _with_group(runs: pd.DataFrame, taken: dict[str, str]) -> pd.DataFrame:
    """Return the labels under the names that runs of this version have; some runs may have them already."""
    for old, new in taken.items():
        if new in runs:
            runs = runs.assign(**{new: runs[new].where(runs[new].notna(), runs[old])}).drop(columns=old)
    return runs.rename(columns=taken)


def _of_older_runs(runs: pd.DataFrame) -> dict[str, pd.Series]:
    """Return the options that some runs are older than, with the neutral value in these runs."""
    out: dict[str, pd.Series] = {}
    for (group, member), options in ADDED.items():
        for label, neutral in options.items():
            older = runs[label].isna() & (runs[group] == member) if {group, label} <= {*runs} else pd.Series(dtype=bool)
            if older.any():
                out[label] = runs[label].astype(object).where(~older, neutral).infer_objects()
    return out


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else float("nan")
