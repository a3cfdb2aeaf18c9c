"""Names of methods, metrics and datasets, their order, and which direction of a metric is better."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from analysis.results.plugins import load_plugins
from analysis.results.results import NETWORK_S, Results
from analysis.results.wording import by_count
from bench.base.provenance import MARKS, mark_of

FAMILIES = """
-      dnsgd dog gt_nsgdm nsgdm demuon d_dog
dsgd   dsgdm qg_dsgdm decentlam mg_dsgd dsgd_clip dsgd_n dsgd_cclip
dsgt   push_pull push_diging sgp fspda sclip_ef dat_sgd dda
dasagt dasa gt_hsgd storm deepstorm adpsgd acid
d2     ed edm led proxskip deco osgp swift
gt     momentum_tracking dsgt_hb dsmt kgt detag autostep_gt dgm_bb
dadam  adam damsgrad gt_adam prodigy adamdos dadam_written accum_adam
choco  beer docom motef dadagrad_norm adagrad_norm rasgp asy_sonata
"""
"""The shipped methods, a family per line. Add new ones at the end of a line; ``-`` keeps a place for a plug-in."""
ORDER = [name for name in FAMILIES.split() if name != "-"]
"""The order of legends and tables."""
LABELS = {"dsgd": "D-SGD", "dsgt": "D-SGT", "dasagt": "D-ASAGT", "d2": "D²"}
"""Labels of methods whose older runs do not declare one."""
METRICS = {
    "test_accuracy": "test accuracy (%)",
    "test_loss": "test loss",
    "train_loss": "training loss",
    "node_loss": "node loss",
    "stationarity": r"$\|\nabla f(\bar{x})\|^2$",
    "grad_norm": r"$\|\nabla f(\bar{x})\|$",
    "grad_norm_mean": r"mean of $\|\nabla f(\bar{x})\|$ over steps, interpolated",
    "consensus": "consensus error",
    "tracking_error": "tracking error",
    "step": "iterations",
    "epoch": "epochs",
    "samples": "samples drawn by the network",
    "gradients": "gradients computed by the network",
    "rounds": "communication rounds",
    "scalars_sent": "scalars sent by the network, before compression",
    "bytes": "bytes sent by the network",
    "wall_s": "seconds",
}
DEFINITIONS = {
    "consensus": "The consensus error is (1/n) Σ ‖x_i − x̄‖², where x̄ is the mean of the nodes' parameters x_i",
    "tracking_error": "The tracking error is ‖g − ∇f(x̄)‖, not squared; g is the mean of the nodes' gradient estimates",
    "node_loss": "The node loss is the mean over the nodes of the loss at each node's own parameters; for a dataset "
    "with samples, the loss is the mean over at most 500 samples, the same for all nodes",
    "grad_norm": "The gradient ∇f(x̄) is evaluated at the mean x̄ of the nodes' parameters",
    "stationarity": "The gradient ∇f(x̄) is evaluated at the mean x̄ of the nodes' parameters",
}
"""Sentences that captions add for metrics without a universal definition."""
DATASETS = {"mnist": "MNIST", "fashion_mnist": "Fashion-MNIST", "miniboone": "MiniBooNE"}
MORE_IS_BETTER = ("test_accuracy",)


def name_of(dataset: str) -> str:
    return DATASETS.get(dataset, dataset)


def metric_name(metric: str, results: Results | None = None) -> str:
    """Return the name on an axis or column; for a metric of a plug-in, the label that its runs declare."""
    if metric == NETWORK_S:
        return f"seconds ({results.network})" if results and results.network else "seconds on a network"
    declared = results.measures.get(metric, {}).get("label") if results else None
    return METRICS.get(metric) or declared or metric.replace("_", " ")


def metric_in_words(metric: str, results: Results | None = None) -> str:
    """Return the name in a sentence: without formulas and units."""
    own = results is not None and metric in results.measures
    return metric_name(metric, results) if own else metric.replace("train_", "training_").replace("_", " ")


def more_is_better(metric: str, results: Results | None = None) -> bool:
    return bool(direction(metric, results))


def direction(metric: str, results: Results | None = None) -> bool | None:
    """Return whether larger is better; None if a plug-in does not declare it."""
    if results and metric in results.measures:
        return results.measures[metric].get("more_is_better")
    return metric in MORE_IS_BETTER


def method_name(algo: object, results: Results | None = None) -> str:
    """Return the name of a method in legends, tables and sentences: as its runs declare it."""
    load_plugins()
    declared = results.declared.get(str(algo), {}) if results else {}
    return declared.get("label") or LABELS.get(str(algo), str(algo))


def methods(algos: Iterable[str], results: Results | None = None) -> dict[str, str]:
    """Return the names of methods in the order of legends: shipped ones, then others by family and name."""
    load_plugins()

    def place(algo: str) -> tuple[int, list[tuple[float, str]], list[tuple[float, str]]]:
        return ORDER.index(algo) if algo in ORDER else len(ORDER), by_count(family(algo, results)), by_count(algo)

    return {algo: method_name(algo, results) for algo in sorted(set(algos), key=place)}


def marked(
    names: Mapping[str, str], results: Results, runs: Mapping[str, Iterable[str]] | None = None
) -> tuple[dict[str, str], list[str]]:
    """Return the names with the marks of methods that no ranking includes, and a note per mark.

    ``runs`` are the shown runs of every method, whose options may decide on the mark.
    """
    marks = {}
    for algo in names:
        shown = [results.facts.get(run, {}).get("algorithm") or {} for run in (runs or {}).get(algo, ())]
        found = [_mark(one) for one in shown if "provenance" in one] or [_mark(results.declared.get(algo, {}))]
        marks[algo] = next(filter(None, found), "")
    notes = [f"{mark} {note}" for mark, note in MARKS.items() if mark in marks.values()]
    return {algo: f"{name}{marks[algo]}" for algo, name in names.items()}, notes


def _mark(declared: Mapping[str, Any]) -> str:
    """Return no mark if the run is of an earlier version, which did not declare a provenance."""
    return mark_of(declared["provenance"], declared.get("published", True)) if "provenance" in declared else ""


def put_first(algo: str, label: str) -> None:
    """Put a method before all others in legends and tables.

    ``label`` is its name in figures, for runs that do not declare one.

    Example:
        >>> put_first("nesterov", "Nesterov")
    """
    ORDER.insert(0, algo)
    LABELS[algo] = label


def family(algo: str, results: Results | None = None) -> str:
    """Return the family that the runs of a method declare; by default its name."""
    return (results.declared.get(algo, {}).get("family") if results else None) or algo


def is_asynchronous(algo: str, results: Results) -> bool:
    """Return whether the runs of a method declare events in the place of steps."""
    return bool(results.declared.get(algo, {}).get("events"))
