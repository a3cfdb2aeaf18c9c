"""One run read back from its folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from bench.base.integrity import examine, read_table


class Run(NamedTuple):
    """One run as it is read: ``metrics`` has a row per evaluation."""

    labels: dict[str, Any]
    metrics: pa.Table
    made: dict[str, Any]  # what the manifest says of the software
    whole: bool = True  # it has ended, and what was read will not change


def read_run(folder: Path) -> Run | None:
    """The labels and the metrics of one run; None where a file is not what was written."""
    found = examine(folder)
    if found.damaged:
        return None
    labels = {**found.labels, "run_id": folder.name}
    if found.metrics is None:
        return Run(labels, pa.Table.from_pylist(found.rows), found.made, whole=False)
    return Run(labels, read_table(found.metrics), found.made)
