"""c·f in the place of f: what parameter-free means."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.claims.evidence import Case, evidence, exact
from analysis.drawing.style import name_of
from analysis.results.results import Results
from analysis.study.ask import PAPER
from analysis.study.families import at_most
from analysis.study.select import as_written, problems


@evidence
def change_with_scale(results: Results, algo: str) -> list[Case]:
    """The largest relative change, over all c, seeds and steps, of the training loss of c·f divided by c."""
    finals = results.finals
    out = []
    for key, runs in problems(results, finals[finals["algo"] == algo], but=("scale",)):
        runs, _ = as_written(results, runs, PAPER)
        if runs["scale"].nunique() < 2 or 1.0 not in set(runs["scale"]):
            continue
        runs, _, _ = at_most("scale", results, runs.assign(test_loss=runs["test_loss"] / runs["scale"]), PAPER)
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
