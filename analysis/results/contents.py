"""Files that settings of runs name: their contents count, not their paths."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

CONTENT = ".content"
"""The end of the label of a content, after that of its path; network.content belongs to network.path."""
FILES = {"topology.file.content": ("graph/edges-", "graph/matrix-"), "dataset.path.content": ("data/file-",)}
"""The contents that manifests recorded before they were labels, with the names of their entries."""


def contents_of_older_runs(runs: pd.DataFrame, facts: Mapping[str, Mapping[str, Any]]) -> dict[str, pd.Series]:
    """Return the labels of contents that some runs lack, taken from runs whose manifest records the same content."""
    out: dict[str, pd.Series] = {}
    for label in (label for label in FILES if label in runs and runs[label].isna().any()):
        entries = [_entry(facts.get(run, {}), FILES[label]) for run in runs["run_id"]]
        known = {entry: content for entry, content in zip(entries, runs[label], strict=True) if pd.notna(content)}
        found = pd.Series([known.get(entry) if entry else None for entry in entries], index=runs.index, dtype=object)
        if (runs[label].isna() & found.notna()).any():
            out[label] = runs[label].astype(object).where(runs[label].notna(), found)
    return out


def paths_by_content(runs: pd.DataFrame) -> dict[str, pd.Series]:
    """Return the labels of paths, with one path for all files of the same content: such runs solve one problem."""
    out: dict[str, pd.Series] = {}
    for content in (name for name in runs if name.endswith(CONTENT)):
        label = "network.path" if content == f"network{CONTENT}" else content.removesuffix(CONTENT)
        if label in runs and (runs.groupby(content)[label].nunique() > 1).any():
            first = runs.dropna(subset=[label, content]).drop_duplicates(content).set_index(content)[label]
            out[label] = runs[content].map(first).where(runs[content].notna(), runs[label])
    return out


def _entry(manifest: Mapping[str, Any], names: tuple[str, ...]) -> tuple[str, str] | None:
    """Return the name and the version of the file of a run."""
    sources = manifest.get("sources")
    found = sources.items() if isinstance(sources, dict) else ()
    return next(((name, str(version)) for name, version in found if name.startswith(names)), None)
