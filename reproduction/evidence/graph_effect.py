"""Effect of the graph: final results of a method on a graph, compared with those on the complete graph."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from analysis.claims.evidence import Case, case, evidence
from analysis.results.labels import direction
from analysis.results.results import Results
from analysis.study.families import most_run
from analysis.study.reported import reported_all
from analysis.study.select import problems
from reproduction.evidence.settings import POINTS, in_words, of, plain, written
from reproduction.study import PAPER


@dataclass(frozen=True)
class Beside:
    """Final results of a method on one graph (``here``) and on the complete graph (``whole``), for common seeds."""

    setting: str
    metric: str
    here: np.ndarray
    whole: np.ndarray
    labels: bool  # data divided by labels

    @property
    def deviations(self) -> float:
        """Difference of the means in standard deviations over seeds, pooled over both graphs; positive is worse."""
        pooled = np.sqrt((np.var(self.here, ddof=1) + np.var(self.whole, ddof=1)) / 2)
        gap = float(np.mean(self.here - self.whole)) * (-1 if direction(self.metric) else 1)
        return gap / pooled if pooled else np.nan

    @property
    def in_deviations(self) -> str:
        """For example +2.4."""
        return f"{round(self.deviations, 2) + 0.0:+.2g}"

    @property
    def name(self) -> str:
        return f"{self.setting} ({self.in_deviations} standard deviations)"


def beside_the_complete_graph(
    results: Results, metric: str, algo: str = "dsgd", eta: float | None = None
) -> list[Beside]:
    """Every problem that was also run on the complete graph, with the common seeds and stepsizes. A method with a
    stepsize needs at least three of them, or the one given. Of the options of a graph, the most frequent are kept."""
    finals = results.finals
    mine = of(finals[plain(finals) & (finals["topology"] != "row_stochastic")], algo)
    mine = mine if eta is None else mine[mine["eta"] == eta]
    out = []
    for _, runs in problems(results, mine, but=("topology",)):
        if not (runs["topology"] == "complete").any():
            continue
        runs, _ = most_run(runs, "topology", ())
        graphs = {str(graph): written(results, some) for graph, some in runs.groupby("topology")}
        whole = graphs.pop("complete")
        for some in graphs.values():
            here, there = _in_both(some, whole), _in_both(whole, some)
            grid = here["eta"].nunique() >= 3 or here["eta"].isna().all() or eta is not None
            if grid and here["seed"].nunique() >= 2 and here[metric].notna().any():
                ends = [_reported(results, each, metric) for each in (here, there)]
                both = pd.concat(ends, axis=1, join="inner").to_numpy(float)
                uneven = some["partition"].iloc[0] != "even"
                # only D-SGD always has the T of the paper
                horizon = "" if algo == "dsgd" else f", T = {int(some['steps'].iloc[0])}"
                out.append(Beside(in_words(some) + horizon, metric, both[:, 0], both[:, 1], uneven))
    return sorted(out, key=lambda one: one.setting)


@evidence
def ends_beside_the_complete_graph(
    results: Results, metric: str, algo: str = "dsgd", labels: bool | None = None, eta: float | None = None
) -> list[Case]:
    """Final result of tuned D-SGD, or untuned D-NASA, compared with the complete graph, paired by seed: a ratio of
    losses or a difference in points. The stepsize of each graph is selected on other seeds, from one grid, by this
    metric. Accuracies with a validation split are selected by validation accuracy. Brackets show the same difference in
    standard deviations over seeds, pooled over both graphs; positive is worse than on the complete graph."""
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
    """The runs whose stepsize and seed also occur among the others."""
    mine, theirs = (pd.MultiIndex.from_arrays([some["eta"].fillna(0.0), some["seed"]]) for some in (runs, others))
    return runs[mine.isin(theirs)]


def _reported(results: Results, runs: pd.DataFrame, metric: str) -> pd.Series:
    request = PAPER if metric == POINTS else replace(PAPER, tune_by=metric)
    (found,) = reported_all(results, runs, request).values()
    return found.values(metric)
