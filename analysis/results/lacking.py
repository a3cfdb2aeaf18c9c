"""Metrics that results lack: an archive may have some metrics only."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager

import pandas as pd

from analysis.results.errors import NoData
from analysis.results.labels import metric_in_words
from analysis.results.results import Results
from analysis.results.wording import listed
from bench.store.record import COLUMNS


@contextmanager
def lacking_metrics_named(results: Results) -> Iterator[None]:
    """Raise ``NoData`` with the name of the metric if the block needs a built-in one that no run has."""
    try:
        yield
    except KeyError as error:  # pandas writes the names of columns in several ways
        words = re.findall(r"\w+", str(error))
        if lacking := next((name for name in COLUMNS if name in words and name not in results.rows), None):
            raise NoData(f"no run has the metric '{lacking}'") from error
        raise


def runs_without(results: Results, run_ids: Collection[str], drawn: pd.DataFrame) -> list[str]:
    """Return a note on the runs of a figure that lack one of its metrics, where others of the method have it."""
    if "metric" not in drawn:
        return []
    ends = results.finals[results.finals["run_id"].isin(run_ids) & (results.finals["state"] == "done")]
    parts = []
    for metric in (name for name in drawn["metric"].dropna().unique() if name in ends):
        known = ends[metric].notna()
        some = known.groupby([ends["algo"], ends["dataset"]]).transform("any")
        if count := int((~known & some).sum()):
            parts.append(f"{metric_in_words(metric, results)} ({count})")
    return [f"runs lack {listed(parts)}: points that need them are not drawn"] if parts else []
