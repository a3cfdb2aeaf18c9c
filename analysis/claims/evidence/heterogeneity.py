"""Disagreement on unevenly divided data."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.claims.evidence import Case, case, evidence
from analysis.claims.evidence.settings import label
from analysis.results.results import Results
from analysis.study.ask import PAPER
from analysis.study.families import one_setting, uneven_splits
from analysis.study.select import as_written


@evidence
def growth_of_disagreement(results: Results, algos: list[str]) -> list[Case]:
    """Final consensus error on the most uneven data as a multiple of that on evenly divided data, seeds paired."""
    splits = uneven_splits(results)
    finals = as_written(results, pd.concat([runs.assign(split=split) for split, runs in splits.items()]), PAPER)[0]
    tried = set(finals["algo"])
    finals, _ = one_setting(results, finals)
    order = finals.groupby("split")["heterogeneity"].mean().sort_values().index
    out = []
    for algo in [algo for algo in algos if algo in tried]:
        mine = finals[finals["algo"] == algo]
        ends = [mine[mine["split"] == split].set_index("seed") for split in (order[-1], order[0])]
        logs = [np.log(end["consensus"].where(end["state"] == "done")) for end in ends]
        both = pd.concat(logs, axis=1, join="inner").to_numpy(float)
        name = f"{label(algo)}, {order[-1]} against {order[0]}"
        out.append(case(name, both[:, 0] - both[:, 1], sum(len(end) for end in ends) or 1, logs=True))
    return out
