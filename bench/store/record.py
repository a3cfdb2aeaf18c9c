"""The columns and states of a run. Imports no torch."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from bench.base import renamed
from bench.base.evaluation import DIVERGING_FROM

COLUMNS = [
    *("step", "epoch", "samples", "gradients", "rounds", "vectors_sent", "scalars_sent", "bytes"),
    *("train_loss", "test_loss", "test_accuracy", "node_loss", "stationarity", "grad_norm", "grad_norm_mean"),
    *("consensus", "consensus_z", "consensus_bound", "tracking_error"),
    *("compute_s", "comm_s", "eval_s", "wall_s"),
]
_COLUMNS = frozenset(COLUMNS)
EVENT_COLUMNS = {
    "virtual_s": "virtual time (s)",
    **{f"gradients_{which}": f"gradients of a node ({which})" for which in ("min", "median", "max")},
    **{f"idle_s_{which}": f"idle time of a node ({which}, s)" for which in ("min", "median", "max")},
    **{f"staleness_{which}": f"staleness of gradients ({which}, events)" for which in ("mean", "max")},
    **{f"staleness_s_{which}": f"staleness of gradients ({which}, s)" for which in ("mean", "max")},
    **{f"messages_{what}": f"messages {what.replace('_', ' ')}" for what in ("under_way", "lost", "replaced")},
}
"""The further columns of asynchronous runs, which the order of events determines, with their labels."""
SCORE = "test_"
"""Prefix of the columns that measure predictions: test_accuracy, test_rmse."""
LATER = {"links": "reliable", "compressor": "none", "loss": "usual", "regularizer": "none", "network": "none"}
"""Settings that were added later, with the value of runs without them."""
SINCE = {**LATER, "input_scale": 1.0, "validation": 0.0, "partition.equal": False, "dataset.exact": False}
"""Labels that were added later, with the value that has no effect."""
ADDED: dict[tuple[str, str], dict[str, Any]] = {
    ("algo", "dsgd"): {"order": "adapt_then_combine"},
    ("algo", "dsgd_clip"): {"clipping": "given", "p": 2.0},
    ("algo", "gt"): {"local_stepsizes": False},
    ("topology", "edges"): {"topology.directed": False},
    ("dataset", "cifar10"): {"dataset.augment": False},
}
"""Labels of options that a member of a group got later, with their neutral values, which runs without them have."""
STATES = {
    "done": "completed all steps",
    "diverging": "completed all steps, but the training loss rose by more than "
    f"{DIVERGING_FROM:g} times its initial value",
    "nonfinite": "stopped early because a metric became NaN or infinite",
    "failed": "stopped because of an error (see the log)",
    "interrupted": "was stopped from outside, for example with Ctrl-C; the same command resumes it",
    "running": "is in progress",
    "missing": "was not started",
    "damaged": "has corrupt files; the same command moves them to damaged/ and repeats the run",
}
"""The states of a run. In sentences, a run that *diverged* is ``diverging`` or ``nonfinite``."""
FACTS = (
    *("fingerprint", "sources", "heterogeneity", "versions", "started", "host", "data"),
    *("algorithm", "metrics", "sweep", "also"),
)
"""Entries of a manifest that a W&B run carries beside the labels."""
HOW = ("engine", "tracker", "checkpoint_every", "ranks", "jobs", "device", "results", "data_dir", "force", "stale")
"""Labels of the execution, which do not affect the result; their options (engine.host) do not either."""
NETWORK_S = "network seconds"
"""The computed column of seconds on a network."""
DERIVED = (
    "rho",
    "heterogeneity",
    "diverging",
    "above_start",
    "run",
    "fact",
    "zeta",
    "settings_hash",
    "index",
    "split",
    NETWORK_S,
)
"""Columns that analysis adds to the labels of runs, or to those of an archive."""
SHOWN = (
    *("x", "x_axis", "mean", "low", "high", "runs", "seeds", "metric", "setting", "nonfinite", "seconds", "slow"),
    *("final", "diverged", "reference", "reference_minus", "missed", "target_by"),
    *("gone", "pooled", "values", "evaluation", "problem"),
)
"""Columns of the tables and the numbers of figures, beside those of the options."""
WITH_GROUP = {name: f"algo.{name}" for name in (*DERIVED, *SHOWN, "fingerprint")}
"""Options of methods that runs of earlier versions label without their group."""
EARLIER = frozenset((*renamed.COLUMNS, *renamed.SETTINGS))
"""Names of columns and settings in earlier versions. Readers replace them by the present names."""
TAKEN = EARLIER | frozenset(
    (*COLUMNS, *FACTS, *DERIVED, *SHOWN, "run_id", "state", "replicas", "sha256", "certificate", "edges")
)
"""Names that are not available as labels. An option of a method with such a name, or with the name of a setting, is
labeled with its group: algo.rounds."""
FINAL = ("done", "diverging", "nonfinite")
"""The states of finished runs, which have metrics."""
ALL_STEPS = ("done", "diverging")
"""The states of runs that completed all steps. A nonfinite run ends earlier."""


def cut_short(labels: Mapping[str, Any], last: int, recorded: Any = None) -> str | None:
    """Describe the missing evaluations of a finished run, if any.

    Args:
        labels: The labels of the run, with its state.
        last: The step of its last evaluation.
        recorded: The last step according to its summary; None if that is unknown.
    """
    if labels["state"] not in FINAL:
        return None
    ends = [labels["steps"]] if labels["state"] in ALL_STEPS else []
    ends += [recorded] if recorded is not None else []
    other = [end for end in ends if end != last]
    return f"its last evaluation is at step {last}, but it ended at step {str(other[0])[:20]}" if other else None


def divided(summary: Mapping[str, Any], own: Collection[str] = ()) -> tuple[dict[str, Any], dict[str, Any]]:
    """Divide a summary into labels, with the state, and metrics; ``own`` are the metrics of plug-ins."""
    metrics = {name: value for name, value in summary.items() if name in _COLUMNS or name in own}
    return {name: value for name, value in summary.items() if name not in metrics}, metrics


Row = dict[str, Any]
"""One evaluation: a value for every name in COLUMNS and every metric of a plug-in, or None if it is not defined."""
