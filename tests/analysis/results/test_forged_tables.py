"""Small tables of strangers with very many rows, or with columns of types that the suite does not write."""

import io
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis import load
from analysis.results import archive
from analysis.results.archive import ROWS, RUNS, read_archive, write_archive
from analysis.results.errors import NoData
from analysis.results.folder import load_folder
from analysis.results.warnings import unreadable
from bench.store import read_parquet
from bench.store.files import read_json, sha256, write_json
from bench.store.integrity import SUMS
from bench.store.kinds import EVALUATIONS
from tests.analysis.results.test_selected import made
from tests.faults.harm_store import finished
from tests.helpers.archives import without_digests


def forge(run, table, **options):
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    (run / "metrics.parquet").write_bytes(sink.getvalue())
    summary = read_json(run / "summary.json")
    sums = {**summary[SUMS], "metrics.parquet": sha256(sink.getvalue())}
    write_json(run / "summary.json", {**summary, "steps": len(table) - 1, "step": len(table) - 1, SUMS: sums})
    return len(sink.getvalue())


def test_a_run_with_too_many_evaluations_is_unreadable(tmp_path):
    run = finished(tmp_path).path
    packed = {
        "compression": "zstd",
        "use_dictionary": ["train_loss"],
        "column_encoding": {"step": "DELTA_BINARY_PACKED"},
    }
    for count in (EVALUATIONS, EVALUATIONS + 1):
        assert forge(run, pa.table({"step": np.arange(count), "train_loss": np.zeros(count)}), **packed) < 30_000
        found = load_folder(tmp_path)
        assert found.unreadable == load(tmp_path).attrs["unreadable"] == [run.name] * (count > EVALUATIONS)
    [sentence] = unreadable(found)
    assert {str(EVALUATIONS), str(EVALUATIONS + 1)} <= {*re.findall(r"\d+", sentence)}


@pytest.mark.parametrize(("name", "most"), [(ROWS, 3), (RUNS, 1)])
def test_an_archive_with_too_many_rows_is_rejected(tmp_path, monkeypatch, name, most):
    write_archive(made(8, 16), tmp_path)
    assert len(read_archive(tmp_path).runs) == 2
    if name == ROWS:
        monkeypatch.setattr(archive, "ARCHIVED", most)
    else:
        monkeypatch.setitem(read_parquet.read_table.__kwdefaults__, "rows", most)
    with pytest.raises(NoData, match=rf"\b{most + 1}|{2 * most + 1}\b.* {most}$"):
        read_archive(tmp_path)


TYPES = {
    "dictionary": pa.array(["a", "b"]).dictionary_encode(),
    "halffloat": pa.array(np.ones(2, np.float16)),
    "timestamp": pa.array([1, 2], pa.timestamp("s")),
    "decimal128": pa.array([1, 2]).cast(pa.decimal128(20)),
    "uint64": pa.array([1, 1 << 63], pa.uint64()),
    "list": pa.array([[1], [2]]),
    "binary": pa.array([b"\xff", b"a"]),
}


@pytest.mark.parametrize("column", ["state", "algo", "run_id", "odd"])
@pytest.mark.parametrize("kind", TYPES)
def test_an_archive_with_labels_of_other_types_is_rejected(tmp_path, column, kind):
    write_archive(made(8, 16), tmp_path)
    table = pq.read_table(tmp_path / RUNS)
    table = table.append_column("odd", pa.array([1, 2])) if column == "odd" else table
    values = table[column].cast(pa.string()).dictionary_encode() if kind == "dictionary" else TYPES[kind]
    pq.write_table(table.set_column(table.column_names.index(column), column, values), tmp_path / RUNS)
    with pytest.raises(NoData, match=f"'{column}' .*'{kind}"):
        read_archive(without_digests(tmp_path))


def test_an_archive_with_metrics_of_another_type_is_rejected(tmp_path):
    write_archive(made(8, 16), tmp_path)
    table = pq.read_table(tmp_path / ROWS)
    half = pa.array(np.ones(len(table), np.float16))
    pq.write_table(table.set_column(2, table.column_names[2], half), tmp_path / ROWS)
    with pytest.raises(NoData, match=rf"'{table.column_names[2]}' .*'halffloat"):
        read_archive(without_digests(tmp_path))
