"""Thousands of runs: the index, and a page that lists only some of them."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis import load
from analysis.report import page
from analysis.report.report_data import ReportData
from analysis.results import block, index
from analysis.results.folder import load_folder
from analysis.results.index import read_run
from bench.store.files import read_json, sha256, write_json
from bench.terminal import table
from bench.terminal.console import Console
from tests.helpers import sweeps
from tests.helpers.cli import ROOT, python
from tests.helpers.many import multiply

COUNT = 40


@pytest.fixture(scope="module")
def few(tmp_path_factory) -> Path:
    return sweeps.make(tmp_path_factory.mktemp("few"), "few")


@pytest.fixture
def many(few, tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr(index, "MANY", 10)
    return multiply(few, tmp_path / "many", COUNT)


@pytest.fixture
def reads(monkeypatch):
    """The runs that are read one by one."""
    seen = []
    monkeypatch.setattr(index, "read_run", lambda folder: seen.append(folder.name) or read_run(folder))
    return seen


def straight(results: Path) -> pd.DataFrame:
    """Without an index."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index, "MANY", 10**9)
        return load(results)


@pytest.mark.thorough
def test_the_index_gives_the_same_table_as_the_runs(many, reads, monkeypatch):
    monkeypatch.setattr(index, "WORTH", 20)
    cold = load(many)
    assert reads == []  # other processes did
    pd.testing.assert_frame_equal(cold, straight(many))
    reads.clear()
    pd.testing.assert_frame_equal(load(many), cold)
    assert reads == []
    assert index.file_of(many).is_file()


def test_a_run_that_changed_came_or_went_is_read_anew(many, reads):
    load(many)
    runs = sorted((many / "runs").iterdir())
    reads.clear()
    summary = read_json(runs[0] / "summary.json")
    sums = {"sha256": json.loads((runs[0] / "summary.json").read_text())["sha256"]}
    write_json(runs[0] / "summary.json", {**summary, "model.hidden": 65, **sums})
    metrics = bytearray((runs[1] / "metrics.parquet").read_bytes())
    metrics[len(metrics) // 2] ^= 1
    (runs[1] / "metrics.parquet").write_bytes(metrics)
    shutil.rmtree(runs[2])
    write_json(runs[3] / "summary.json", {**read_json(runs[3] / "summary.json"), "state": "running"})
    (runs[4] / "manifest.json").write_text("{")
    found = load(many)
    pd.testing.assert_frame_equal(found, straight(many))
    assert set(reads[:4]) == {run.name for run in (runs[0], runs[1], runs[3], runs[4])}
    assert set(found.loc[found["run_id"] == runs[0].name, "model.hidden"]) == {65}
    assert found.attrs["unreadable"] == [runs[1].name, runs[4].name]
    assert runs[2].name not in set(found["run_id"])


def test_the_index_has_no_rows_of_runs_that_were_replaced(many):
    load(many)
    size = index.file_of(many).stat().st_size
    for _ in range(3):
        for run in sorted((many / "runs").iterdir())[3:10:2]:
            write_json(run / "status.json", read_json(run / "status.json"))  # a new stamp, the same numbers
        found = load(many)
        blocks = block.read_blocks(index.file_of(many))
        for one in blocks:
            assert len(one.metrics) == sum(entry.rows for entry in one.entries.values())
        assert sum(len(one.entries) for one in blocks) == COUNT
    assert index.file_of(many).stat().st_size < 1.1 * size
    pd.testing.assert_frame_equal(found, straight(many))


def test_notices_a_change_with_the_old_time_and_size(many):
    load(many)
    path = sorted((many / "runs").iterdir())[7] / "metrics.parquet"
    state, content = path.stat(), bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert (path.stat().st_mtime_ns, path.stat().st_size) == (state.st_mtime_ns, state.st_size)
    assert load(many).attrs["unreadable"] == [path.parent.name]


def test_rewrites_a_damaged_index(many):
    found = load(many)
    file = index.file_of(many)
    sound = file.read_bytes()
    flipped = bytearray(sound)
    flipped[len(sound) * 2 // 3] ^= 4
    for harmed in (b"", bytes(flipped), sound[:-100], b"x" + sound[1:]):  # the last is of another version
        file.write_bytes(harmed)
        assert block.read_blocks(file) == []
        pd.testing.assert_frame_equal(load(many), found)
        (written,) = block.read_blocks(file)
        assert written.entries.keys() == set(found["run_id"])


def test_loads_without_a_writable_index(many):
    (many / ".index").write_text("in the way")
    pd.testing.assert_frame_equal(load(many), straight(many))


def test_runs_with_other_columns_are_kept_apart(many, few):
    """As earlier versions of the suite have left them: no run lends its columns, or its types, to another."""
    runs = sorted((many / "runs").iterdir())
    for run, change in ((runs[3], "less"), (runs[20], "more"), (runs[30], "type")):
        whole = pq.read_table(run / "metrics.parquet")
        tables = {
            "less": whole.drop_columns(["epoch"]),
            "more": whole.append_column("traveled", whole["epoch"]),
            "type": whole.set_column(2, "samples", whole["samples"].cast(pa.float64())),
        }
        pq.write_table(tables[change], run / "metrics.parquet")
        reseal(run)
    expected = straight(many)
    assert len(expected) == len(load(many)) > 0
    pd.testing.assert_frame_equal(load(many), expected)
    shutil.rmtree(runs[20])
    shutil.rmtree(runs[30])
    left = load(many)
    pd.testing.assert_frame_equal(left, straight(many))
    assert "traveled" not in left
    assert left["samples"].dtype.kind == "i"


def reseal(run: Path) -> None:
    """The digests as they would be, had these metrics been written."""
    summary = json.loads((run / "summary.json").read_text())
    summary["sha256"]["metrics.parquet"] = sha256((run / "metrics.parquet").read_bytes())
    write_json(run / "summary.json", summary)


def test_a_page_of_many_runs_lists_some_and_says_so(few, tmp_path, monkeypatch):
    monkeypatch.setattr(page, "LISTED", 12)
    folder = multiply(few, tmp_path / "many", COUNT, failed_every=10)
    text = page.page(ReportData(load_folder(folder), "Many", [], []))
    assert "12 of 40 runs" in text
    assert f"python bench/status.py {folder.name}" in text
    details = json.loads(text.split('id="details">')[1].split("</script>")[0])
    assert len(details) == 12
    assert sum(run["state"] == "failed" for run in details.values()) == 4
    rows = text.split('<table id="table-runs">')[1].split("</table>")[0]
    assert rows.count('class="run"') == 12


def test_a_long_table_is_plain_text(few, tmp_path, monkeypatch):
    monkeypatch.setattr(table, "LONG", 3)
    runs = [read_json(folder / "summary.json") for folder in sorted((few / "runs").iterdir())]
    with (tmp_path / "out").open("w") as out:
        table.show_table(Console(file=out, width=40), runs)
    head, *lines = (tmp_path / "out").read_text().splitlines()
    assert len(lines) == len(runs)
    assert {"algo", "topology", "state", "test_loss", "consensus"} <= set(head.split())  # wider than the console
    assert all(line.split()[0] == run["algo"] for line, run in zip(lines, runs, strict=True))


FEW, MANY = 500, 2_000
FOR = 20_000
"""Runs for which memory must suffice: by what it grows from few to many."""
MEASURE = """
import resource, sys
from pathlib import Path
if sys.argv[1] == "load":
    import analysis
    assert analysis.load(sys.argv[2])["run_id"].nunique() == int(sys.argv[3])
else:
    from analysis import make_report
    assert make_report.main(["--results", sys.argv[2]]) == 0
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
# not getrusage, whose maximum is inherited from the process that started this one
peak = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
print(sum(one.ru_utime + one.ru_stime for one in used), peak / 1e6)
"""


@pytest.mark.thorough
@pytest.mark.timeout(600)
@pytest.mark.skipif("HEARSAY_TEST_MANY" not in os.environ, reason="measures time and memory: make faults does so")
def test_thousands_of_runs(tmp_path):
    """Loaded without an index and with one, reported and listed: what it takes grows no faster than the runs, an index
    saves most of it, and a gigabyte is enough for twenty thousand."""
    real = sweeps.make(tmp_path / "few", "few", "untuned")

    def measure(count: int) -> pd.DataFrame:
        """Seconds of all processes and gigabytes of the first."""
        folder = multiply(real, tmp_path / str(count), count)
        found = {}
        for name in ("load", "load again", "report"):
            done = subprocess.run(
                [sys.executable, "-c", MEASURE, name.split()[0], str(folder), str(count)],
                cwd=ROOT, capture_output=True, text=True, check=True,
            )  # fmt: skip
            found[name] = map(float, done.stdout.split()[-2:])
        done = python("bench/status.py", str(folder), cwd=tmp_path)
        assert done.returncode == 0
        assert f"{count} runs:" in done.stdout
        shutil.rmtree(folder)  # or a later session would have these files to remove
        return pd.DataFrame(found, index=["seconds", "memory"]).T

    few, many = measure(FEW), measure(MANY)
    print(few, many, sep="\n")
    assert (many["seconds"] < 1.25 * MANY / FEW * few["seconds"]).all()
    assert ((many["seconds"] - few["seconds"]) / (MANY - FEW)).max() < 0.01  # of one core, for one run more
    assert many["seconds"]["load again"] < many["seconds"]["load"] / 3
    each = (many["memory"] - few["memory"]) / (MANY - FEW)
    assert (many["memory"] + (FOR - MANY) * each).max() < 1
