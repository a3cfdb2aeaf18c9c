"""One run read back from its folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from bench.store.integrity import UNREADABLE, examine, read_table


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
    if list in set(map(type, labels.values())):  # in a table it is a text
        labels = {name: json.dumps(value) if type(value) is list else value for name, value in labels.items()}
    try:
        metrics = pa.Table.from_pylist(found.rows) if found.metrics is None else read_table(found.metrics)
    except UNREADABLE:  # a digest can be forged
        return None
    whole = found.metrics is not None
    return Run(labels, metrics, found.made, whole) if len(metrics) or not whole else None
