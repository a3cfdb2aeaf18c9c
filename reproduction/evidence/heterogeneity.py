"""Consensus error on data divided unevenly."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.claims.evidence import Case, case, evidence
from analysis.results.results import Results
from analysis.study.families import one_setting, uneven_splits
from analysis.study.reported import reported_all
from analysis.study.select import as_written
from reproduction.evidence.settings import by_seed, label
from reproduction.study import PAPER


@evidence
def growth_of_disagreement(results: Results, algos: list[str]) -> list[Case]:
    """Final consensus error on the most uneven data as a ratio to that on evenly divided data, paired by seed. First
    with one η for both, the best on average over all partitions, so that only the data change. Then, if it differs,
    with the η that other seeds select for each, which also changes the steps."""
    splits = uneven_splits(results)
    finals = as_written(results, pd.concat([runs.assign(split=split) for split, runs in splits.items()]), PAPER)[0]
    same, _ = one_setting(results, finals)
    order = finals.groupby("split")["heterogeneity"].mean().sort_values().index
    ends = [finals[finals["split"] == split] for split in (order[-1], order[0])]
    tuned = [reported_all(results, end) for end in ends]
    out = []
    for algo in [algo for algo in algos if algo in set(finals["algo"])]:
        mine = same[same["algo"] == algo]
        etas = mine["eta"].dropna().unique() if "eta" in mine else ()
        apart = [some[algo] for some in tuned if algo in some]
        named = f"{label(algo)}, {order[-1]} against {order[0]}"
        one = f", η = {' and '.join(f'{eta:g}' for eta in etas)} for both" if len(etas) else ""
        out.append(_growth(named + one, *(mine[mine["split"] == split] for split in (order[-1], order[0]))))
        own = [end.best.values["eta"] for end in apart if end.best and len(etas)]
        if len(own) == 2 and not {run for end in apart for run in end.runs["run_id"]} <= set(mine["run_id"]):
            each = " and ".join(f"{eta:g}" for eta in own)
            out.append(_growth(f"{named}, each at its own η ({each})", *(end.runs for end in apart)))
    return out


def _growth(name: str, uneven: pd.DataFrame, even: pd.DataFrame) -> Case:
    logs = [np.log(by_seed(end, "consensus")) for end in (uneven, even)]
    both = pd.concat(logs, axis=1, join="inner").to_numpy(float)
    return case(name, both[:, 0] - both[:, 1], len(uneven) + len(even) or 1, logs=True)
