"""What lies in the folders of runs."""

import json
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq

TIMES = ["compute_s", "comm_s", "eval_s", "wall_s"]


def folders(results: Path) -> list[Path]:
    return sorted((results / "runs").iterdir())


def metrics(folder: Path) -> pd.DataFrame:
    return pq.read_table(folder / "metrics.parquet").to_pandas().drop(columns=TIMES)


def state(folder: Path) -> dict:
    return json.loads((folder / "status.json").read_text())
