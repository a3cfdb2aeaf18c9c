"""Earlier names with the present ones. Results on disk, W&B projects and plug-ins may use them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PROPERTIES = {
    "pooled": "centralized_equivalent",
    "bounded": "bounded_step",
    "double": "requires_float64",
    "unread": "diagnostic_states",
    "sends": "vectors_per_step",
    "scalars": "scalars_per_step",
}
"""Properties that methods declare."""
COLUMNS = {"vectors": "vectors_sent", "numbers": "scalars_sent", "excess": "suboptimality"}
"""Columns of the metrics."""
SETTINGS = {"stretch": "input_scale", "regulariser": "regularizer", "dataset.standardise": "dataset.standardize"}
"""Settings and their options on the command line. A run_id is computed with the earlier names, so that it is stable."""
FIGURES = {"loss": "packet_loss"}
"""Figures (--figure)."""
STATES = {"exploded": "diverging", "diverged": "nonfinite"}
"""States of runs."""


def setting(name: str) -> str:
    """Return the present name of a setting or option."""
    group, dot, option = name.partition(".")
    return SETTINGS.get(name) or SETTINGS.get(group, group) + dot + option


def typed(word: str) -> str:
    """Return a word of the command line, NAME=VALUE, with the present name."""
    name, equals, value = word.partition("=")
    bare = name.lstrip("+~")
    return name[: len(name) - len(bare)] + setting(bare) + equals + value


def column(name: str) -> str:
    """Return the present name of a column or label."""
    return COLUMNS.get(name) or setting(name)


def columns(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row, summary or status with the present names of its columns, labels and state."""
    out = {column(name): value for name, value in row.items()}
    return {**out, "state": STATES.get(out["state"], out["state"])} if "state" in out else out
