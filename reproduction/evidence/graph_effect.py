"""Whether a method feels its graph: where tuned D-SGD ends, beside where it ends on the complete graph."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from analysis.claims.evidence import Case, case, evidence
from analysis.results.labels import direction
from analysis.results.results import Results
from analysis.study.reported import reported_all
from analysis.study.select import problems
from reproduction.evidence.settings import POINTS, in_words, of, plain, written
from reproduction.study import PAPER


@dataclass(frozen=True)
class Beside:
    """One problem on one graph and on the complete one: what a method ends with, by the seeds that both have."""

    setting: str
    metric: str
    here: np.ndarray
    whole: np.ndarray
    labels: bool  # whether its data is divided by labels

    @property
    def deviations(self) -> float:
        """How much worse the mean is here, in standard deviations over seeds (of both graphs, pooled)."""
        pooled = np.sqrt((np.var(self.here, ddof=1) + np.var(self.whole, ddof=1)) / 2)
        gap = float(np.mean(self.here - self.whole)) * (-1 if direction(self.metric) else 1)
        return gap / pooled if pooled else np.nan

    @property
    def told(self) -> str:
        """+2.4"""
        return f"{round(self.deviations, 2) + 0.0:+.2g}"

    @property
    def name(self) -> str:
        return f"{self.setting} ({self.told} standard deviations)"


def beside_the_complete_graph(
    results: Results, metric: str, algo: str = "dsgd", eta: float | None = None
) -> list[Beside]:
    """Every problem that was run there too, with the stepsizes (three or more, of a method that has them, or this one
    alone) and seeds that both have."""
    finals = results.finals
    mine = of(finals[plain(finals) & (finals["topology"] != "row_stochastic")], algo)
    mine = mine if eta is None else mine[mine["eta"] == eta]
    out = []
    for _, runs in problems(results, mine, but=("topology",)):
        if not (runs["topology"] == "complete").any():
            continue
        graphs = {str(graph): written(results, some) for graph, some in runs.groupby("topology")}
        whole = graphs.pop("complete")
        for some in graphs.values():
            here, there = _in_both(some, whole), _in_both(whole, some)
            grid = here["eta"].nunique() >= 3 or here["eta"].isna().all() or eta is not None
            if grid and here["seed"].nunique() >= 2 and here[metric].notna().any():
                ends = [_reported(results, each, metric) for each in (here, there)]
                both = pd.concat(ends, axis=1, join="inner").to_numpy(float)
                uneven = some["partition"].iloc[0] != "even"
                horizon = "" if algo == "dsgd" else f", T = {int(some['steps'].iloc[0])}"  # others may have another
                out.append(Beside(in_words(some) + horizon, metric, both[:, 0], both[:, 1], uneven))
    return sorted(out, key=lambda one: one.setting)


@evidence
def ends_beside_the_complete_graph(
    results: Results, metric: str, algo: str = "dsgd", labels: bool | None = None, eta: float | None = None
) -> list[Case]:
    """Where tuned D-SGD, or untuned D-NASA, ends, beside where it ends on the complete graph, paired by seed: a
    multiple of the loss, or a difference in points. A stepsize is chosen on other seeds, on each graph by itself out of
    the same grid: by this metric, or by validation accuracy where samples were set aside and accuracies are compared.
    In brackets the same in standard deviations over seeds (of both graphs, pooled), positive where it is worse than on
    the complete graph."""
    out = []
    for one in beside_the_complete_graph(results, metric, algo, eta):
        if labels is not None and one.labels != labels:
            continue
        gap = one.here - one.whole if metric == POINTS else np.log(one.here / one.whole)
        out.append(
            case(one.name if eta is None else f"{one.name}, η = {eta:g}", gap, 2 * len(gap), logs=metric != POINTS)
        )
    return out


def _in_both(runs: pd.DataFrame, others: pd.DataFrame) -> pd.DataFrame:
    """The runs whose stepsize and seed the others have too."""
    mine, theirs = (list(zip(some["eta"].fillna(0.0), some["seed"], strict=True)) for some in (runs, others))
    known = set(theirs)
    return runs[[pair in known for pair in mine]]


def _reported(results: Results, runs: pd.DataFrame, metric: str) -> pd.Series:
    request = PAPER if metric == POINTS else replace(PAPER, tune_by=metric)
    (found,) = reported_all(results, runs, request).values()
    return found.values(metric)
