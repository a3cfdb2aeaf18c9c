"""Names that were renamed: earlier ones are still understood, and no run gets another name."""

import json

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.results.folder import load
from bench.base import renamed
from bench.config.compose import compose_one
from bench.config.experiment import blocks_of
from bench.store.files import sha256
from bench.sweep.sweep import run_all
from tests.faults.harm_forged import sealed
from tests.helpers.claims import QUIET
from tests.helpers.configs import config

NAMES = {
    "dataset=synthetic stretch=2": "dnasa-ring-synthetic-s0-2e3c6d23",
    "dataset=synthetic regulariser=l2": "dnasa-ring-synthetic-s0-ff364221",
    "dataset=synthetic regulariser=l2 regulariser.alpha=0.5": "dnasa-ring-synthetic-s0-41ffde1c",
    "dataset=synthetic stretch=3 regulariser=nonconvex algo=dsgd algo.eta=0.01": "dsgd-ring-synthetic-s0-0057802e",
}
"""Names of runs as they were before settings were renamed."""


@pytest.mark.parametrize("words", NAMES)
def test_runs_keep_their_names_whichever_name_of_a_setting_is_typed(words):
    present = [renamed.typed(word) for word in words.split()]
    assert all("stretch" not in word and "regulariser" not in word for word in present)
    assert compose_one(words.split()).run_id == compose_one(present).run_id == NAMES[words]


def test_an_experiment_may_have_earlier_names():
    (block,) = blocks_of({"common": {"stretch": [1, 2]}, "blocks": [{"regulariser.alpha": 0.1, "regulariser": "l2"}]})
    assert block == {"input_scale": [1, 2], "regularizer.alpha": 0.1, "regularizer": "l2"}


def test_results_with_earlier_names_are_read(tmp_path):
    run = config(results=str(tmp_path), algo="dsgd", dataset="quadratics", input_scale=2.0)
    assert run_all([run], QUIET) == 0
    before, folder = load(tmp_path), tmp_path / "runs" / run.run_id
    earlier = {new: old for old, new in {**renamed.COLUMNS, **renamed.SETTINGS}.items()}
    table = pq.read_table(folder / "metrics.parquet")
    pq.write_table(
        pa.table({earlier.get(name, name): table[name] for name in table.column_names}), folder / "metrics.parquet"
    )
    summary = json.loads((folder / "summary.json").read_text())
    summary["sha256"]["metrics.parquet"] = sha256((folder / "metrics.parquet").read_bytes())
    states = {"state": "diverged"}
    sealed(folder / "summary.json", {**{earlier.get(name, name): value for name, value in summary.items()}, **states})
    sealed(folder / "status.json", {**json.loads((folder / "status.json").read_text()), **states})
    assert {"numbers", "vectors", "stretch"} <= json.loads((folder / "summary.json").read_text()).keys()
    after = load(tmp_path)
    assert set(after.pop("state")) == {"nonfinite"}
    pd.testing.assert_frame_equal(after, before.drop(columns="state"), check_like=True)
