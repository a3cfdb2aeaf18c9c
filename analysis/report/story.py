"""What a report tells, before it is a page or a W&B report."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from analysis.drawing.panels import Picture, numbers, seeds_in_words
from analysis.drawing.style import name_of, styles
from analysis.figures import Drawing, drawings
from analysis.results.errors import NoData, trouble
from analysis.results.results import Results
from analysis.results.warnings import warnings
from analysis.study.ask import Ask
from analysis.study.outcome import outcome
from analysis.tables import Table, TableMaker, table_makers
from bench.base.record import STATES


@dataclass
class Story:
    """The parts of a report, in order."""

    results: Results
    headline: str
    facts: list[tuple[str, str]]
    warnings: list[str]
    outcome: list[str] = field(default_factory=list)
    figures: list[tuple[Drawing, Picture, str]] = field(default_factory=list)  # and what it was made from
    tables: list[tuple[TableMaker, Table]] = field(default_factory=list)
    missing: list[tuple[str, str, str]] = field(default_factory=list)  # figures not drawn: title, why, command
    troubles: list[str] = field(default_factory=list)  # figures and tables that raised something


def tell_story(results: Results, ask: Ask | None = None) -> Story:
    """Everything there is data for."""
    ask = ask or Ask()
    facts_told = [*facts(results), *commands(results)]
    story = Story(results, headline(results), facts_told, warnings(results), outcome(results, ask))
    for drawing in drawings().values():
        try:
            picture = drawing.picture(results, ask)
        except NoData as error:
            story.missing.append((drawing.title, str(error), drawing.command))
        except Exception as error:  # a stranger's figure may raise anything, and the others are drawn
            story.troubles.append(f"{drawing.name} not drawn: {trouble(error, drawing.draw)}")
        else:
            used = results.runs[results.runs["run_id"].isin(picture.runs)]
            story.figures.append((drawing, picture, seeds_in_words(used)))
    for recipe in table_makers().values():
        try:
            story.tables.append((recipe, recipe.table(results, ask)))
        except NoData:
            continue
        except Exception as error:  # as above
            story.troubles.append(f"{recipe.name} not made: {trouble(error, recipe.make)}")
    story.warnings += story.troubles
    return story


def headline(results: Results) -> str:
    """4 runs: D-NASA and D-SGT on synthetic, ring and complete"""
    runs = results.runs
    if runs.empty:
        return "No runs"
    methods = [style.label for style in styles(runs["algo"].unique(), results).values()]
    datasets = [name_of(name) for name in runs["dataset"].unique()]
    graphs = [str(name) for name in runs["topology"].unique()]
    return f"{_many(len(runs), 'run')}: {_list(methods)} on {_list(datasets)}, {_list(graphs)}"


def facts(results: Results) -> list[tuple[str, str]]:
    """What was run, how much of it ended how, and on what."""
    runs = results.runs
    if runs.empty:
        return []
    states = Counter(runs["state"])
    out = [("Runs", ", ".join(f"{states[state]} {state}" for state in STATES if states[state]))]
    out.append(("Seeds", numbers("seed", sorted(runs["seed"].unique())).removeprefix("seeds ").removeprefix("seed ")))
    out.append(("Nodes", _list(str(n) for n in sorted(runs["nodes"].unique()))))
    out.append(("Steps", _list(str(n) for n in sorted(runs["steps"].unique()))))
    made = [_environment(results.facts.get(run, {})) for run in runs["run_id"]]
    out += [("Made by", f"{words} ({_many(count, 'run')})") for words, count in Counter(made).most_common(6) if words]
    versions = Counter(_versions(results.facts.get(run, {})) for run in runs["run_id"])
    out += [("Versions", f"{words} ({_many(count, 'run')})") for words, count in versions.most_common(4) if words]
    data = {
        run_data(results.facts.get(run, {}), name) for run, name in zip(runs["run_id"], runs["dataset"], strict=True)
    }
    out += [("Data", words) for words in sorted(words for words in data if words)]
    return out


def commands(results: Results) -> list[tuple[str, str]]:
    """What was typed, as far as the manifests know."""
    sweeps = Counter(fact["sweep"] for fact in results.facts.values() if fact.get("sweep"))
    out = []
    for sweep, count in sweeps.most_common(4):
        several = "-m " if "," in sweep else ""
        words = sweep if "=" in sweep else "" if sweep == "defaults" else f"experiment={sweep}"
        named = next((fact.get("plugins") for fact in results.facts.values() if fact.get("sweep") == sweep), None)
        before = f"HEARSAY_PLUGINS={named} " if named else ""
        out.append(("Command", f"{before}python bench/run.py {several}{words}".rstrip() + f" ({_many(count, 'run')})"))
    return out


def run_data(fact: dict[str, Any], name: str) -> str:
    data = fact.get("data") or {}
    return f"{name_of(name)}, sha256 {data['sha256'][:16]}…" if data.get("sha256") else ""


def _environment(fact: dict[str, Any]) -> str:
    if not fact:
        return ""
    host = fact.get("host") or {}
    how = f"engine {fact.get('engine')}, {host.get('gpu') or fact.get('device')}"
    if fact.get("engine") == "mpi":
        how += f", {_many(fact.get('ranks', 1), 'rank')}"
    return f"{how}, {host.get('machine', 'unknown machine')} with {_many(host.get('cores') or 0, 'core')}"


def _versions(fact: dict[str, Any]) -> str:
    return ", ".join(f"{name} {version}" for name, version in (fact.get("versions") or {}).items())


def run_table(results: Results) -> pd.DataFrame:
    """A row per run: how it ended, its last evaluation, and the labels that differ."""
    runs = results.runs
    last = results.rows.drop_duplicates("run_id", keep="last") if len(results.rows) else pd.DataFrame({"run_id": []})
    table = runs.merge(last, on="run_id", how="left")
    always = ["algo", "dataset", "topology", "seed"]
    labels = [c for c in (*results.options, *results.problem) if c in runs and c not in always]
    differ = [c for c in labels if runs[c].astype(str).nunique() > 1]
    metrics = ["test_accuracy", "test_loss", "train_loss", "grad_norm", "consensus", *results.measures, "wall_s"]
    found = [c for c in metrics if c in table and table[c].notna().any()]
    labels = ["algo", "dataset", "topology", "seed", *differ, *(["step"] if "step" in table else [])]
    return table[["run_id", "state", *found, *labels]]


def _many(count: int, word: str) -> str:
    return f"{count} {word}{'s' * (count != 1)}"


def _list(words: Any) -> str:
    words = list(words)
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else ""
