"""What lies in the folders of runs."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq

from bench.config.run_config import RunConfig
from bench.store.run_folder import RunFolder

TIMES = ["compute_s", "comm_s", "eval_s", "wall_s"]


@contextmanager
def claimed(config: RunConfig) -> Iterator[RunFolder[RunConfig]]:
    """The folder of a run, whose lock is released however the test ends."""
    folder = RunFolder(config)
    assert folder.claim()
    try:
        yield folder
    finally:
        folder.release()


def folders(results: Path) -> list[Path]:
    return sorted((results / "runs").iterdir())


def metrics(folder: Path) -> pd.DataFrame:
    return pq.read_table(folder / "metrics.parquet").to_pandas().drop(columns=TIMES)


def state(folder: Path) -> dict:
    return json.loads((folder / "status.json").read_text())
