"""Reads the offline runs that W&B wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench.sweep.tracking.offline_file import records


class Image:
    """One offline run."""

    def __init__(self, folder: Path) -> None:
        (file,) = folder.glob("*.wandb")
        found = list(records(file))
        (self.run,) = (record.run for record in found if record.HasField("run"))
        self.config = {item.key: json.loads(item.value_json) for item in self.run.config.update}
        self.history = [_items(record.history) for record in found if record.HasField("history")]
        self.exits = [record.exit.exit_code for record in found if record.HasField("exit")]
        self.axes = {record.metric.name or record.metric.glob_name for record in found if record.HasField("metric")}
        self.media = list((folder / "files" / "media").rglob("*.html"))


def _items(history: Any) -> dict[str, Any]:
    return {(item.key or ".".join(item.nested_key)): json.loads(item.value_json) for item in history.item}


def images(results: Path) -> dict[str, Image]:
    """By run id; every run once."""
    found = [Image(path) for path in sorted((results / "wandb").glob("offline-run-*"))]
    assert len({image.run.run_id for image in found}) == len(found)
    return {image.run.run_id: image for image in found}
