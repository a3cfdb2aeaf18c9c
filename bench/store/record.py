"""What is written of a run: its columns, its states, and when it is evaluated. No torch here: everybody may ask."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

import numpy as np

COLUMNS = [
    *("step", "epoch", "samples", "gradients", "rounds", "vectors_sent", "scalars_sent", "bytes"),
    *("train_loss", "test_loss", "test_accuracy", "stationarity", "grad_norm", "grad_norm_mean"),
    *("consensus", "consensus_z", "consensus_bound", "tracking_error"),
    *("compute_s", "comm_s", "eval_s", "wall_s"),
]


_COLUMNS = frozenset(COLUMNS)
SCORE = "test_"
"""How the columns begin that say how good a prediction is, those of a loss among them: test_accuracy, test_rmse."""


DIVERGING_FROM = 100.0
"""A finished run is ``diverging`` if its training loss rose by more than this many times its initial value.

Of the suite's own runs, none above it predicted more than the most frequent class; one at 30 times had 81 % accuracy.
"""


LATER = {"links": "reliable", "compressor": "none", "loss": "usual", "regularizer": "none"}
"""Choices that came later, and what they were before."""
SINCE = {**LATER, "input_scale": 1.0, "validation": 0.0, "partition.equal": False, "dataset.exact": False}
"""All labels that came later and have a value when they change nothing."""
STATES = {
    "done": "completed all steps",
    "diverging": f"completed all steps, but the loss rose by more than {DIVERGING_FROM:g} times its initial value",
    "nonfinite": "stopped early because a metric became NaN or infinite",
    "failed": "stopped by an error (see the log)",
    "interrupted": "stopped from outside; the same command resumes it",
    "running": "in progress",
    "missing": "not started",
    "damaged": "has corrupt files; the same command moves them to damaged/ and repeats the run",
}
"""The states of a run. In sentences, a run that *diverged* is ``diverging`` or ``nonfinite``."""


FACTS = (
    *("fingerprint", "sources", "heterogeneity", "versions", "started", "host", "data"),
    *("algorithm", "metrics", "sweep", "also"),
)
"""Entries of a manifest that a W&B run carries beside the labels."""
DERIVED = ("rho", "heterogeneity", "diverging", "above_start", "run", "fact", "zeta", "index")
"""Columns that analysis adds to the labels of runs, or to those of an archive."""
TAKEN = frozenset((*COLUMNS, *FACTS, *DERIVED, "run_id", "state", "replicas", "sha256", "certificate", "edges"))
"""Names that stand for something else beside the labels of a run. An option of a method with such a name, or with that
of a setting, is labeled as it is typed: algo.rounds."""
FINAL = ("done", "diverging", "nonfinite")
"""The states of a result: nothing is left to do, and the metrics are there."""


def final_state(state: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the state of a finished run with these rows: ``diverging`` if its loss rose too much.

    A ratio, so that c·f ends as f does. A loss may be negative; one that starts at 0 gives no measure.
    """
    first, last = rows[0]["train_loss"], rows[-1]["train_loss"]
    return "diverging" if state == "done" and last - first > DIVERGING_FROM * abs(first) > 0 else state


def divided(summary: Mapping[str, Any], own: Collection[str] = ()) -> tuple[dict[str, Any], dict[str, Any]]:
    """The labels of a summary, its state among them, and its metrics: told apart by their names, in any order.

    ``own`` are the metrics of plug-ins, which the manifest of the run names.
    """
    metrics = {name: value for name, value in summary.items() if name in _COLUMNS or name in own}
    return {name: value for name, value in summary.items() if name not in metrics}, metrics


Spacing = Literal["linear", "log"]


def evaluation_steps(steps: int, every: int, spacing: Spacing) -> list[int]:
    """The steps to evaluate at; 0 and T always. ``log`` spreads as many points evenly in log t."""
    if spacing == "linear":
        points = np.arange(0, steps, every)
    else:
        points = np.append(0, np.geomspace(1, steps, max(2, steps // every)).round().astype(int))
    return sorted({*map(int, points), 0, steps})


Row = dict[str, Any]
"""One line of the metrics: a value, or None where a column has no meaning, for every name in COLUMNS, then for the
metrics of plug-ins."""
