"""Labels of an archive are checked like those of a results folder."""

import pandas as pd
import pytest

from analysis.results.archive import RUNS, write_archive
from analysis.results.errors import NoData
from analysis.results.read import read
from bench.sweep.sweep import run_all
from bench.terminal.console import Console
from tests.helpers.archives import without_digests
from tests.helpers.configs import config


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    runs = [
        config(results=str(folder), algo={"name": "dsgd", "eta": eta}, seed=seed)
        for eta in (0.1, 0.2)
        for seed in (0, 1)
    ]
    assert run_all(runs, Console(quiet=True), "by -m") == 0
    return read(folder)


def forge(made, folder, **labels):
    write_archive(made, folder)
    pd.read_parquet(folder / RUNS).assign(**labels).to_parquet(folder / RUNS, index=False)
    return without_digests(folder)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("validation", "z"),
        ("eta", "0.1"),
        ("batch_size", 0),
        ("batch_size", "x"),
        ("partition", 3),
        ("model", 4.5),
        ("scale", float("inf")),
        ("option", float("inf")),
    ],
)
@pytest.mark.parametrize("how", ["all", "one"])
def test_rejects_an_archive_with_an_invalid_label(made, tmp_path, name, value, how):
    values = [value, *[value if how == "all" else None] * 3]
    with pytest.raises(NoData, match=name):
        read(forge(made, tmp_path, **{name: values}))


def test_rejects_an_archive_with_an_unknown_dtype(made, tmp_path):
    with pytest.raises(NoData, match="float8"):
        read(forge(made, tmp_path, dtype=["float8", *["float32"] * 3]))


def test_whole_numbers_may_be_missing_in_some_runs(made, tmp_path):
    archive = forge(made, tmp_path, schedule_nodes=[5, None, None, None], option=[1e300, None, 2.5, 3])
    assert list(read(archive).runs["schedule_nodes"].dropna()) == [5]
