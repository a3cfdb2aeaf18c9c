"""Our accuracies compared with the published ones, and with those of the released code."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.claims.evidence import Case, Summary, case, difference, evidence
from analysis.drawing.symbols import in_symbols
from analysis.results.labels import name_of
from analysis.results.results import Results
from analysis.study.reported import reported_all
from analysis.study.select import has_no_variant, problems
from analysis.study.statistics import Interval, report
from analysis.study.tuning import tuned_over
from reproduction.evidence.settings import by_seed, label, settings, written
from reproduction.study import published
from reproduction.study.families import variants


@evidence
def from_published(results: Results, dataset: str) -> list[Case]:
    """Our test accuracy at the best stepsize, selected on other seeds, minus the best published accuracy over the grid.
    Some published points are single runs."""
    out = []
    for name, runs in settings(results, dataset=dataset):
        theirs = published.rows_of_setting(dataset, str(runs["topology"].iloc[0]), int(runs["steps"].iloc[0]))
        for algo, found in reported_all(results, written(results, runs)).items():
            table = published.of_dnasa(theirs) if algo == "dnasa" else theirs[theirs["algo"] == algo]
            if len(table):
                ours = by_seed(found.runs, "test_accuracy")
                top = float(table["test_accuracy"].max())
                out.append(case(f"{name}, {label(algo)}", ours - top, len(found.runs)))
    return out


@evidence
def from_published_with_schedule(results: Results, dataset: str, algo: str, schedule: str) -> list[Case]:
    """Our test accuracy minus the best published one, for one method with a schedule that is not the paper's."""
    finals = results.finals
    mine = finals[(finals["dataset"] == dataset) & (finals["algo"] == algo) & (finals["schedule"] == schedule)]
    mine = mine[(mine["partition"] == "even") & has_no_variant(mine)]
    out = []
    for key, runs in problems(results, mine):
        theirs = published.rows_of_setting(dataset, key["topology"], key["steps"])
        found = report(runs, tuned_over(results, runs))
        if found.best and len(theirs[theirs["algo"] == algo]):
            top = float(theirs[theirs["algo"] == algo]["test_accuracy"].max())
            name = f"{name_of(dataset)}, {key['topology']}, {label(algo)}, {schedule}, {in_symbols(found.best.values)}"
            out.append(case(name, by_seed(found.runs, "test_accuracy") - top, len(found.runs)))
    return out


@evidence
def points_lost_in_the_published_files(results: Results, eta: float) -> list[Case]:
    """Test accuracy lost at this stepsize of the published axis, compared with the best of the published grid. Welch's
    interval uses the published standard deviations; a single run has no interval."""
    out = []
    for (dataset, topology), some in published.published().groupby(["dataset", "topology"], sort=False):
        for algo, mine in some[some["algo"] != "dnasa"].groupby("algo", sort=False):
            if (mine["eta"] == eta).any():
                best, there = mine.loc[mine["test_accuracy"].idxmax()], mine[mine["eta"] == eta].iloc[0]
                grid = f"best of {len(mine)}: η = {best['eta']:g}, {best['runs']} run{'s' if best['runs'] > 1 else ''}"
                name = f"{name_of(str(dataset))}, {topology}, {label(str(algo))} ({grid})"
                none = Case(name, Interval(0.0, 0.0, 0.0, best["runs"]), int(best["runs"]), error=(0.0, np.inf))
                out.append(none if best["eta"] == eta else difference(name, _summary(best), _summary(there)))
    return out


@evidence
def accuracy_as_released(results: Results) -> list[Case]:
    """Test accuracy with a change of the released code minus that of the method as written, paired by seed."""
    finals = variants(results)
    out = []
    for (algo, split, change), some in finals.groupby(["algo", "split", "change"]):
        if change == "as written":
            continue
        written = finals[(finals["algo"] == algo) & (finals["split"] == split) & (finals["change"] == "as written")]
        both = some.merge(written, on="seed", suffixes=("", "_written"), validate="one_to_one")
        if len(both):
            gap = both["test_accuracy"] - both["test_accuracy_written"]
            out.append(case(f"{label(algo)}, {change}, {split}", gap, 2 * len(both)))
    return out


def _summary(row: pd.Series) -> Summary:
    return Summary(float(row["test_accuracy"]), float(row["test_accuracy_sd"]), int(row["runs"]))
