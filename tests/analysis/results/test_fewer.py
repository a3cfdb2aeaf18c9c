"""Archives with some metrics only."""

from dataclasses import replace

import pytest

from analysis.results.archive import read_archive, write_archive
from analysis.results.errors import NoData
from analysis.results.fewer import with_metrics
from tests.analysis.results.test_selected import made


def results():
    """Two runs with the same data, divided in another way between the nodes."""
    some = made(8, 16)
    rows = some.rows.assign(node_loss=2.5, gradients=[0, 64] * 2)
    facts = {
        run: {"data": {"sha256": "00", "classes": [[k]], "samples": [k], "evaluated": [k]}}
        for k, run in enumerate(some.runs["run_id"])
    }
    return replace(some, rows=rows, facts=facts)


def test_an_archive_has_the_metrics_the_counts_and_one_manifest(tmp_path):
    write_archive(with_metrics(results(), ["node_loss"]), tmp_path)
    back = read_archive(tmp_path)
    assert set(back.rows) == {"run_id", "step", "gradients", "node_loss"}
    assert back.rows["node_loss"].tolist() == [2.5] * 4
    assert {tuple(fact["data"]) for fact in back.facts.values()} == {("sha256",)}


def test_an_unknown_metric_is_named():
    with pytest.raises(NoData, match="'nodeloss'"):
        with_metrics(results(), ["nodeloss"])
