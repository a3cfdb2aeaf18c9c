"""Our accuracies beside the authors' published ones."""

from __future__ import annotations

from analysis.claims.evidence import Case, evidence
from analysis.claims.evidence.settings import label, settings
from analysis.drawing.style import name_of
from analysis.drawing.symbols import in_symbols
from analysis.results.results import Results
from analysis.study import published
from analysis.study.reported import reported_all, runs_of
from analysis.study.select import has_no_variant, problems
from analysis.study.statistics import Interval, best_setting, mean
from analysis.study.tuning import tuned_over


@evidence
def from_published(results: Results, dataset: str) -> list[Case]:
    """Our best mean test accuracy over the grid minus the published best, some of whose points are single runs."""
    out = []
    for name, runs in settings(results, dataset=dataset):
        theirs = published.rows_of_setting(dataset, str(runs["topology"].iloc[0]), int(runs["steps"].iloc[0]))
        best = runs_of(reported_all(results, runs))
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
    mine = mine[(mine["partition"] == "even") & has_no_variant(mine)]
    out = []
    for key, runs in problems(results, mine):
        theirs = published.rows_of_setting(dataset, key["topology"], key["steps"])
        best = best_setting(runs, tuned_over(results, runs))
        if best and len(theirs[theirs["algo"] == algo]):
            top = float(theirs[theirs["algo"] == algo]["test_accuracy"].max())
            some = best.of(runs)
            out.append(
                Case(
                    f"{name_of(dataset)}, {key['topology']}, {label(algo)}, {schedule}, {in_symbols(best.values)}",
                    _shifted(mean(some["test_accuracy"]), -top),
                    len(some),
                )
            )
    return out


def _shifted(found: Interval, by: float) -> Interval:
    return Interval(found.value + by, found.low + by, found.high + by, found.count)
