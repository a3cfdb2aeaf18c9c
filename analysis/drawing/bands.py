"""Bands and error bars over seeds."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import numpy as np
import pandas as pd
from pandas.core.groupby import DataFrameGroupBy
from scipy import stats

from analysis.results.errors import NoData

KINDS = {
    "range": "the smallest and the largest value over the seeds",
    "std": "one standard deviation over the seeds on either side of the mean",
    "ci": "the 95 % confidence interval of the mean (Student's t), from five seeds on",
    "none": "",
}
IN_LEGENDS = {"range": "band: min to max of seeds", "std": "band: ± 1 std of seeds", "ci": "band: 95 % CI of the mean"}
BAND = "_band"
"""The label of a drawn band, which is no entry of the legend itself."""
MIXED = (
    "one point would average several runs with the same seed, which differ in a setting; select one setting with "
    "--where LABEL=VALUE"
)
FEWEST = 5
"""The smallest number of seeds for a confidence interval."""


@dataclass
class Band:
    kind: str = "range"
    used: bool = False  # whether a figure has drawn bands


current: ContextVar[Band] = ContextVar("band", default=Band())  # noqa: B039 (nothing reads the default's ``used``)


@contextmanager
def bands(kind: str) -> Iterator[Band]:
    """Draw bands of this kind within the context. ``used`` of the result tells whether a figure drew any."""
    band = Band(kind)
    token = current.set(band)
    try:
        yield band
    finally:
        current.reset(token)


def over_seeds(groups: DataFrameGroupBy, metric: str) -> pd.DataFrame:
    """Return the mean of a metric, the ends of its band and the number of runs, for each group of runs.

    A group has no mean if one of its runs has no value. Raises ``NoData`` if a group has several runs with one seed.
    """
    one_run_per_seed(groups.obj, groups.keys)
    band = current.get()
    band.used = True
    values = groups[metric]
    ends = {"mean": values.mean(), "low": values.min(), "high": values.max()}
    out = pd.DataFrame({**ends, "runs": groups["run_id"].nunique()})
    if band.kind != "range":
        half = groups[metric].std() if band.kind != "none" else np.nan
        if band.kind == "ci":
            student = stats.t.ppf(0.975, out["runs"] - 1) / np.sqrt(out["runs"])
            half = (half * student).where(out["runs"] >= FEWEST)
        out = out.assign(low=out["mean"] - half, high=out["mean"] + half)
    out.loc[values.count() < values.size(), ["mean", "low", "high"]] = np.nan
    return out


def one_run_per_seed(runs: pd.DataFrame, by: str | None = None) -> None:
    """Raise ``NoData`` if several of these runs have one seed, or one seed and value of ``by``.

    Such runs differ in a setting, and their mean is not one over seeds.
    """
    if "seed" in runs:  # a figure of a plug-in may draw tables without it
        keys = ["seed", *([by] if by else [])]
        if runs[[*dict.fromkeys(("run_id", *keys))]].drop_duplicates().duplicated(keys).any():
            raise NoData(MIXED)
