"""Metrics that results lack: an archive may have some metrics only."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from analysis.results.errors import NoData
from analysis.results.results import Results
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
