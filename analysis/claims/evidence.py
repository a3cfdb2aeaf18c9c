"""The statistics behind the claims: each takes results and returns cases, a number with its interval each.

A claim in claims.yaml names one of these functions and gives its parameters. What has no runs gives no case.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from analysis.drawing.style import name_of, styles
from analysis.results.errors import NoData
from analysis.results.results import Results
from analysis.study import published
from analysis.study.families import one_stepsize, speedup_runs, split_in_words, uneven_splits, variants
from analysis.study.select import as_written, at_best, plain, problems
from analysis.study.statistics import Best, Interval, at, best_stepsize, bootstrap, mean, paired, slope
from bench.base.home import ROOT


@dataclass(frozen=True)
class Case:
    """One number: where, how much, from which runs. NaN: a run of it diverged. Without runs: not tested."""

    name: str
    found: Interval
    runs: int
    exact: bool = False  # a maximum or a count, which has no interval


Evidence = Callable[..., list[Case]]
EVIDENCE: dict[str, Evidence] = {}


def evidence(function: Evidence) -> Evidence:
    EVIDENCE[function.__name__] = function
    return function


def exact(name: str, value: float, runs: int) -> Case:
    """A number without a spread: a maximum, a count."""
    return Case(name, Interval(value, np.nan, np.nan, runs), runs, exact=True)


def untested(name: str) -> Case:
    return Case(name, Interval(np.nan, np.nan, np.nan, 0), 0)


def label(algo: str) -> str:
    return styles([algo])[algo].label


Setting = tuple[str, pd.DataFrame]


def settings(
    results: Results, dataset: str | None = None, topology: str | None = None, even: bool = True
) -> list[Setting]:
    """The paper's settings with accuracies and stepsize grids, methods as written: one per dataset, graph and split."""
    finals = results.finals
    usual = (finals["scale"] == 1.0) & (finals["init"] == "shared") & (finals["topology"] != "row_stochastic")
    finals = finals[usual & (finals["nodes"] == 8) & ((finals["partition"] == "even") == even)]
    chosen: dict[str, tuple[tuple[int, int], pd.DataFrame]] = {}
    for key, runs in problems(results, finals):
        if not runs["test_accuracy"].notna().any() or runs["algo"].nunique() < 2 or runs["eta"].nunique() < 3:
            continue
        if (dataset and key["dataset"] != dataset) or (topology and key["topology"] != topology):
            continue
        split = "" if even else f", {split_in_words(runs.iloc[0].to_dict())}"
        name = f"{name_of(key['dataset'])}, {key['topology']}{split}"
        rank = (len(runs), key["steps"])
        if name not in chosen or rank > chosen[name][0]:
            chosen[name] = (rank, as_written(results, runs)[0])
    return [(name, runs) for name, (_, runs) in sorted(chosen.items())]


def tuned_methods(runs: pd.DataFrame) -> list[str]:
    """Those with a stepsize, in the order of the style table."""
    return [algo for algo in styles(runs["algo"].unique()) if runs.loc[runs["algo"] == algo, "eta"].notna().any()]


@evidence
def exponent_of_nodes(results: Results, schedule: str, last: float = 1.0) -> list[Case]:
    """The exponent p of n in the mean gradient norm over the last part of the steps, at the longest horizon."""
    finals = speedup_runs(results)
    mine = finals[(finals["algo"] == "dnasa") & (finals["schedule"] == schedule)]
    mine = mine[mine["steps"] == mine["steps"].max()]
    if mine["nodes"].nunique() < 2:
        return []
    means = mine["run_id"].map(_means(results, mine, "grad_norm", last)).where(mine["state"] == "done")
    part = "all steps" if last == 1 else f"the last {last:.0%} of the steps"
    return [Case(f"T = {mine['steps'].max()}, {part}", slope(mine["nodes"], means, mine["seed"]), len(mine))]


@evidence
def exponent_of_steps(results: Results, algo: str, metrics: list[str]) -> list[Case]:
    """The exponent p of T in the mean over all steps of the sum of these metrics, fixed schedule, for every n."""
    finals = speedup_runs(results)
    mine = finals[(finals["algo"] == algo) & (finals["schedule"] == "fixed")]
    out = []
    for nodes, some in mine.groupby("nodes"):
        if some["steps"].nunique() >= 2:
            means = some["run_id"].map(sum(_means(results, some, metric) for metric in metrics))
            fit = slope(some["steps"], means.where(some["state"] == "done"), some["seed"])
            out.append(Case(f"n = {nodes}", fit, len(some)))
    return out


def _means(results: Results, finals: pd.DataFrame, metric: str, last: float = 1.0) -> pd.Series:
    """The mean of a metric over the last part of the steps, by the trapezoid rule over the evaluations, per run."""
    rows = results.rows[results.rows["run_id"].isin(finals["run_id"])]
    out = {}
    for run, some in rows.groupby("run_id"):
        some = some[some["step"] >= (1 - last) * some["step"].max()]
        width = some["step"].iloc[-1] - some["step"].iloc[0]
        out[run] = np.trapezoid(some[metric], some["step"]) / width if width else some[metric].iloc[-1]
    return pd.Series(out)


def _bounded(results: Results) -> Iterable[tuple[str, pd.DataFrame]]:
    """D-NASA as written on graphs where agreement takes time, by dataset, graph and split."""
    finals = results.finals
    finals = finals[plain(finals)]
    mine = finals[(finals["algo"] == "dnasa") & (finals["rho"] > 1e-9) & finals["consensus_bound"].notna()]
    for (dataset, topology, nodes, split), some in mine.assign(split=mine["partition"]).groupby(
        ["dataset", "topology", "nodes", "split"]
    ):
        yield f"{name_of(dataset)}, {topology} of {nodes}, {split}", some


@evidence
def part_of_the_sharp_bound(results: Results) -> list[Case]:
    """The largest consensus error as a part of b_t², b⁺ = ρ (b + η_t), over all evaluations of all runs."""
    out = []
    for name, some in _bounded(results):
        rows = results.rows[results.rows["run_id"].isin(some["run_id"]) & (results.rows["step"] > 0)]
        out.append(exact(name, float((rows["consensus"] / rows["consensus_bound"]).max(skipna=False)), len(some)))
    return out


@evidence
def part_of_the_papers_bound(results: Results) -> list[Case]:
    """Σ consensus over all steps as a part of ρ̃ Σ η_t², from equal starts: the largest of the runs."""
    out = []
    for name, some in _bounded(results):
        some = some[some["init"] == "shared"]
        parts = []
        for run in some.itertuples():
            steps, n = int(run.steps), int(run.nodes)
            h = np.arange(1, steps) if run.schedule == "diminishing" else np.full(steps, steps)
            eta2 = float(np.sum((n**0.25 / h**0.75) ** 2))
            rows = results.rows[results.rows["run_id"] == run.run_id]
            parts.append(float(np.trapezoid(rows["consensus"], rows["step"])) / (rho_tilde(float(run.rho)) * eta2))
        if parts:
            out.append(exact(name, float(np.max(parts)), len(parts)))
    return out


def rho_tilde(rho: float) -> float:
    """max{ 1/(1−√((1+ρ)/2)) · √((1+ρ²)/(1−ρ²)), ρ/(1−ρ) · (1+ρ²)/(1−ρ²) }"""
    ratio = (1 + rho**2) / (1 - rho**2)
    return max(np.sqrt(ratio) / (1 - np.sqrt((1 + rho) / 2)), rho / (1 - rho) * ratio)


@evidence
def untuned_minus_best_tuned(results: Results, even: bool = True) -> list[Case]:
    """Test accuracy of D-NASA minus that of the best tuned method at its best stepsize, paired by seed."""
    out = []
    for name, runs in settings(results, even=even):
        best, chosen = at_best(runs, compared=True)
        untuned = best[best["algo"] == "dnasa"]
        tuned = best[best["algo"].isin(chosen)]
        if untuned.empty or tuned.empty:
            continue
        winner = str(tuned.groupby("algo")["test_accuracy"].mean().idxmax())
        theirs = tuned[tuned["algo"] == winner]
        gap = paired(untuned.set_index("seed")["test_accuracy"], theirs.set_index("seed")["test_accuracy"])
        out.append(Case(f"{name} (best: {label(winner)})", gap, 2 * gap.count))
    return out


@evidence
def points_lost_by_a_factor_of_ten(results: Results) -> list[Case]:
    """Test accuracy lost at ten times or a tenth of a method's best stepsize, whichever costs more, paired by seed."""
    out = []
    for name, runs in settings(results):
        for algo in tuned_methods(runs):
            mine = runs[runs["algo"] == algo]
            best = best_stepsize(mine)
            near = [eta for factor in (10.0, 0.1) if best and (eta := at(best, factor))]
            if best is None or not near:
                out.append(untested(f"{name}, {label(algo)}"))
                continue
            worse = min(near, key=lambda eta: best.means[eta])
            out.append(
                Case(f"{name}, {label(algo)}, η = {worse:g} for {best.eta:g}", _lost(mine, best, worse), len(mine))
            )
    return out


def _lost(mine: pd.DataFrame, best: Best, eta: float) -> Interval:
    """Points lost at this stepsize against the best, over the seeds compared; infinite where it diverged."""
    if not np.isfinite(best.means[eta]):
        return Interval(np.inf, np.nan, np.nan, len(best.seeds))
    held = mine[mine["seed"].isin(best.seeds)]
    ours, theirs = (held[held["eta"] == value].set_index("seed")["test_accuracy"] for value in (best.eta, eta))
    return mean((ours - theirs.reindex(ours.index)).to_numpy(float))


@evidence
def points_lost_at(results: Results, eta: float) -> list[Case]:
    """Test accuracy lost at this stepsize against the method's best, paired by seed."""
    out = []
    for name, runs in settings(results, topology="random"):
        for algo in tuned_methods(runs):
            mine = runs[runs["algo"] == algo]
            best = best_stepsize(mine)
            if best is not None and eta in best.grid:
                out.append(Case(f"{name}, {label(algo)}", _lost(mine, best, eta), 2 * len(best.seeds)))
    return out


@evidence
def points_lost_at_the_best_common_stepsize(results: Results) -> list[Case]:
    """The least, over stepsizes, of the most a method loses with it on any dataset (random graph), paired by seed."""
    by_method: dict[str, dict[str, tuple[pd.DataFrame, Best]]] = {}
    for name, runs in settings(results, topology="random"):
        for algo in tuned_methods(runs):
            mine = runs[runs["algo"] == algo]
            if (best := best_stepsize(mine)) is not None:
                by_method.setdefault(algo, {})[name.partition(",")[0]] = (mine, best)
    out = []
    for algo, found in by_method.items():
        common = set.intersection(*(set(best.grid) for _, best in found.values()))
        if len(found) >= 2 and common:
            losses = {eta: [best.means[best.eta] - best.means[eta] for _, best in found.values()] for eta in common}
            eta = min(losses, key=lambda eta: (max(losses[eta]), eta))
            mine, best = list(found.values())[int(np.argmax(losses[eta]))]
            runs = sum(2 * len(best.seeds) for _, best in found.values())
            out.append(Case(f"{label(algo)}, η = {eta:g} on {' and '.join(found)}", _lost(mine, best, eta), runs))
    return out


@evidence
def spike_ratio(results: Results) -> list[Case]:
    """Final test loss of D-NASA as a multiple of the best tuned method's, in both readings, paired by seed."""
    out = []
    finals = results.finals
    for key, runs in problems(results, finals[finals["dataset"] == "spike"]):
        best, chosen = at_best(as_written(results, runs)[0], compared=True)
        tuned, untuned = best[best["algo"].isin(chosen)], best[best["algo"] == "dnasa"]
        if tuned.empty or untuned.empty:
            continue
        winner = str(tuned.groupby("algo")["test_loss"].mean().idxmin())
        theirs = tuned[tuned["algo"] == winner].set_index("seed")["test_loss"]
        ours = untuned.set_index("seed")["test_loss"].where(untuned.set_index("seed")["state"] == "done")
        ratio = _exp(paired(np.log(ours), np.log(theirs)))
        out.append(
            Case(
                f"standard deviation {key['dataset.spike_sd']:g} (best: {label(winner)})",
                ratio,
                len(ours) + len(theirs),
            )
        )
    return out


@evidence
def part_of_rises(results: Results) -> list[Case]:
    """The part of D-NASA's evaluations on the spike model at which the test loss rose, over the second half."""
    finals = results.finals
    finals = finals[plain(finals)]
    out = []
    for key, runs in problems(results, finals[(finals["dataset"] == "spike") & (finals["algo"] == "dnasa")]):
        parts = []
        for _, rows in results.curves(runs).groupby("run_id"):
            later = rows[rows["step"] >= rows["step"].max() / 2]["test_loss"].to_numpy()
            parts.append(float((np.diff(later) > 0).mean()))
        out.append(Case(f"standard deviation {key['dataset.spike_sd']:g}", mean(np.array(parts)), len(parts)))
    return out


@evidence
def change_with_scale(results: Results, algo: str) -> list[Case]:
    """The largest relative change, over all c, seeds and steps, of the training loss of c·f divided by c."""
    finals = results.finals
    out = []
    for key, runs in problems(results, finals[finals["algo"] == algo], but=("scale",)):
        runs, _ = as_written(results, runs)
        if runs["scale"].nunique() < 2 or 1.0 not in set(runs["scale"]):
            continue
        if "eta" in runs and runs["eta"].notna().any():
            runs = runs[runs["eta"] == runs.groupby("eta")["scale"].nunique().idxmax()]
        rows = results.curves(runs).assign(f=lambda table: table["train_loss"] / table["scale"])
        plain_f = rows[rows["scale"] == 1.0].set_index(["seed", "step"])["f"]
        others = rows[(rows["scale"] != 1.0) & rows["seed"].isin(plain_f.index.get_level_values(0))]
        base = plain_f.reindex(pd.MultiIndex.from_frame(others[["seed", "step"]])).to_numpy()
        whole = len(others) == others.groupby(["scale", "seed"]).ngroups * rows["step"].nunique()  # none ended early
        worst = float(np.max(np.abs(others["f"].to_numpy() - base) / np.abs(base))) if whole else np.nan
        scales = sorted(others["scale"].unique())
        name = f"{name_of(key['dataset'])}, {key['topology']}, c from {scales[0]:g} to {scales[-1]:g}"
        out.append(exact(name, worst, len(runs)))
    return out


@evidence
def differences_from_table_1(results: Results, expected: dict[str, dict[str, list[str]]]) -> list[Case]:
    """How many entries of the paper's Table 1 differ from the method's own declaration."""
    out = []
    for algo, row in expected.items():
        mine = results.runs[results.runs["algo"] == algo]
        declared = next(
            (results.facts[run]["algorithm"] for run in mine["run_id"] if results.facts.get(run, {}).get("algorithm")),
            None,
        )
        if declared:
            differ = sum(set(row[word]) ^ set(declared[word]) != set() for word in ("needs", "assumes"))
            out.append(exact(label(algo), float(differ), len(mine)))
    return out


@evidence
def broken_promises(results: Results, algos: list[str]) -> list[Case]:
    """Promises that a method's code breaks now: python bench/contract.py runs every check on it."""
    out = []
    for algo in algos:
        done = subprocess.run(
            [sys.executable, "bench/contract.py", algo], cwd=ROOT, capture_output=True, text=True, timeout=300
        )
        kept, broken = done.stdout.count("  kept  "), done.stdout.count("  BROKEN  ")
        known = done.returncode in (0, 1) and kept + broken > 0
        out.append(exact(f"{label(algo)}, {kept + broken} checks", float(broken) if known else np.nan, kept + broken))
    return out


@evidence
def from_published(results: Results, dataset: str) -> list[Case]:
    """Our best mean test accuracy over the grid minus the published best, some of whose points are single runs."""
    out = []
    for name, runs in settings(results, dataset=dataset):
        theirs = published.of(dataset, str(runs["topology"].iloc[0]), int(runs["steps"].iloc[0]))
        best, _ = at_best(runs, compared=True)
        for algo, mine in best.groupby("algo"):
            table = published.of_dnasa(theirs) if algo == "dnasa" else theirs[theirs["algo"] == algo]
            if len(table):
                ours = mean(mine["test_accuracy"])
                top = float(table["test_accuracy"].max())
                out.append(Case(f"{name}, {label(str(algo))}", _shifted(ours, -top), len(mine)))
    return out


@evidence
def from_published_with_schedule(results: Results, dataset: str, algo: str, schedule: str) -> list[Case]:
    """The same for one method with another schedule than the paper's formula."""
    finals = results.finals
    mine = finals[(finals["dataset"] == dataset) & (finals["algo"] == algo) & (finals["schedule"] == schedule)]
    mine = mine[(mine["partition"] == "even") & plain(mine)]
    out = []
    for key, runs in problems(results, mine):
        theirs = published.of(dataset, key["topology"], key["steps"])
        best = best_stepsize(runs)
        if best and len(theirs[theirs["algo"] == algo]):
            top = float(theirs[theirs["algo"] == algo]["test_accuracy"].max())
            some = runs[runs["eta"] == best.eta]
            out.append(
                Case(
                    f"{name_of(dataset)}, {key['topology']}, {label(algo)}, {schedule}, η = {best.eta:g}",
                    _shifted(mean(some["test_accuracy"]), -top),
                    len(some),
                )
            )
    return out


def _exp(logs: Interval) -> Interval:
    """From a difference of logarithms to a ratio."""
    return Interval(float(np.exp(logs.value)), float(np.exp(logs.low)), float(np.exp(logs.high)), logs.count)


def _shifted(found: Interval, by: float) -> Interval:
    return Interval(found.value + by, found.low + by, found.high + by, found.count)


@evidence
def growth_of_disagreement(results: Results, algos: list[str]) -> list[Case]:
    """Final consensus error on the most uneven data as a multiple of that on evenly divided data, seeds paired."""
    splits = uneven_splits(results)
    finals = as_written(results, pd.concat([runs.assign(split=split) for split, runs in splits.items()]))[0]
    tried = set(finals["algo"])
    finals, _ = one_stepsize(finals)
    order = finals.groupby("split")["heterogeneity"].mean().sort_values().index
    out = []
    for algo in [algo for algo in algos if algo in tried]:
        mine = finals[finals["algo"] == algo]
        ends = [mine[mine["split"] == split].set_index("seed") for split in (order[-1], order[0])]
        logs = [np.log(end["consensus"].where(end["state"] == "done")) for end in ends]
        name = f"{label(algo)}, {order[-1]} against {order[0]}"
        out.append(Case(name, _exp(paired(*logs)), sum(len(end) for end in ends) or 1))
    return out


@evidence
def accuracy_as_released(results: Results) -> list[Case]:
    """Test accuracy with a change of the released code minus as written, paired by seed."""
    finals = variants(results)
    out = []
    for (algo, split, change), some in finals.groupby(["algo", "split", "change"]):
        if change == "as written":
            continue
        written = finals[(finals["algo"] == algo) & (finals["split"] == split) & (finals["change"] == "as written")]
        keys = ["seed", "eta"] if "eta" in finals and some["eta"].notna().any() else ["seed"]
        both = some.merge(written, on=keys, suffixes=("", "_written"))
        if len(both):
            gap = bootstrap((both["test_accuracy"] - both["test_accuracy_written"]).to_numpy(float))
            out.append(Case(f"{label(algo)}, {change}, {split}", gap, 2 * len(both)))
    return out


def gather(name: str, results: Results, parameters: dict[str, Any]) -> list[Case]:
    """The cases of one claim; none where there are no runs for it."""
    try:
        return EVIDENCE[name](results, **parameters)
    except NoData:
        return []
