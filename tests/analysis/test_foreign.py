"""A results folder of somebody else: what stands in it is shown, and nothing in it is obeyed."""

import csv
import json
import os
import re
import shutil
import subprocess

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from analysis import load, make_figures, make_report
from analysis.figures import drawings
from analysis.results import block as block_module
from analysis.results import index
from analysis.results.archive import ROWS, RUNS, write_archive
from analysis.results.block import MAGIC, read_blocks, write_blocks
from analysis.results.errors import NoData
from analysis.results.read import read
from analysis.study.figure_options import FigureOptions
from analysis.tables.format import csv as as_csv
from bench.store.files import write_json
from bench.store.integrity import SUMS, examine
from bench.store.read_parquet import read_table
from bench.sweep.states import look_at_run
from bench.sweep.sweep import run_all
from bench.terminal.table import run_columns
from tests.faults.harm_forged import JSON, ODD, put, sealed, values_of
from tests.helpers.archives import without_digests
from tests.helpers.cli import typed
from tests.helpers.configs import config
from tests.helpers.few import few
from tests.helpers.readers import page_of, status_of

EVIL = "\x1b[2J\x1b]0;owned\x07$\\input{/etc/passwd}$<script>alert(1)</script>"
FORMULA = '=HYPERLINK("http://x")'


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    assert run_all([config(results=str(folder), seed=seed) for seed in (0, 1)], Console(quiet=True)) == 0
    return folder


@pytest.fixture
def results(made, tmp_path):
    return shutil.copytree(made, tmp_path / "results")


def relabel(results, **labels):
    """Other labels in every run, with their digests; and in the manifest what the method is called."""
    for run in (results / "runs").iterdir():
        summary, manifest = (json.loads((run / name).read_bytes()) for name in ("summary.json", "manifest.json"))
        sealed(run / "summary.json", {**summary, **labels})
        told = {"name": labels.get("algo", "dnasa"), "label": labels.get("algo", "D-NASA")}
        sealed(run / "manifest.json", {**manifest, "algorithm": {**manifest["algorithm"], **told}, "sweep": EVIL})
    return results


@pytest.mark.parametrize("evil", few([EVIL, FORMULA], [EVIL]))
def test_labels_are_text_wherever_they_are_written(results, tmp_path, capsys, evil):
    relabel(results, algo=evil, dataset=evil, **{evil: evil})
    out = str(tmp_path / "out")
    words = ["--results", str(results), "--out", out, "--format", "png", "--figure", "final,curves,methods"]
    assert make_figures.main(words) == 0
    told = capsys.readouterr().out + status_of(results)
    assert "\x1b" not in told
    files = {path.name: path.read_text() for path in (tmp_path / "out").iterdir() if path.suffix != ".png"}
    assert {"table_final.tex", "table_final.md", "table_final.csv", "curves.csv"} <= files.keys()
    for name, text in files.items():
        if name.endswith(".tex"):
            assert "\x1b" not in text
            assert r"\input{/" not in text
        if name.endswith(".md"):
            assert "<script" not in text
        if name.endswith(".csv"):
            assert "\x1b" not in text
            for row in csv.reader(text.splitlines()):
                assert not [cell for cell in row if cell.startswith(("=", "@"))]


def test_tex_with_such_labels_compiles_to_these_labels(results, tmp_path):
    if shutil.which("pdflatex") is None:
        pytest.skip("no TeX here")
    relabel(results, algo="$\\input{/etc/hostname}$ % ^^M \\end{tabular}")
    make_figures.main(["--results", str(results), "--out", str(tmp_path), "--figure", "final"])
    body = (tmp_path / "table_final.tex").read_text()
    (tmp_path / "t.tex").write_text(
        rf"\documentclass{{article}}\usepackage{{booktabs}}\begin{{document}}{body}\end{{document}}"
    )
    subprocess.run(["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"], cwd=tmp_path, check=True)


@pytest.mark.thorough
def test_the_page_shows_such_labels(results, capsys):
    relabel(results, algo=EVIL)
    assert make_report.main(["--results", str(results)]) == 0
    text = (results / "report.html").read_text()
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)" in text
    assert "\x1b" not in capsys.readouterr().out


def test_numbers_are_no_formulas():
    table = pd.DataFrame({"=a": ["-1.5", "+x", "@y", "\tz", "plain", None], "n": [-1.0, 2, 3, 4, 5, 6]})
    header, *rows = csv.reader(as_csv(table).splitlines())
    assert header == ["'=a", "n"]
    assert [row[0] for row in rows] == ["-1.5", "'+x", "'@y", "'\tz", "plain", ""]
    assert rows[0][1] == "-1"


def test_a_log_of_any_bytes(results):
    run = next(iter((results / "runs").iterdir()))
    for name in ("status.json", "summary.json"):
        write_json(run / name, {**json.loads((run / name).read_bytes()), "state": "failed"})
    status = json.loads((run / "status.json").read_bytes())
    write_json(run / "status.json", {**status, "error": "It \x1b[2Jended."})
    (run / "log.txt").write_bytes(b"\xff\xfe caf\xe9 \x1b[2J\n")
    told = status_of(results)
    assert "failed: It \\x1b[2Jended." in told
    assert "�� caf� \\x1b[2J" in told
    assert "�� caf�" in page_of(results)


def test_a_log_that_is_a_link_is_not_on_the_page(results, tmp_path):
    (tmp_path / "secret").write_text("my private key")
    for name in ("log.txt", "config.yaml"):
        path = next(iter((results / "runs").iterdir())) / name
        path.unlink()
        path.symlink_to(tmp_path / "secret")
        assert "my private key" not in page_of(results)
    assert len(load(results).attrs["unreadable"]) == 1  # config.yaml has a digest, a log has none


def test_a_run_that_is_a_link_is_named(results, tmp_path):
    run = next(iter((results / "runs").iterdir()))
    run.rename(tmp_path / run.name)
    run.symlink_to(tmp_path / run.name)
    assert load(results).attrs["unreadable"] == [run.name]
    assert f"{run.name} is damaged: " in status_of(results)


@pytest.mark.parametrize("place", ["runs", ".locks", "wandb", "queue"])
def test_a_command_says_what_is_a_link(results, tmp_path, place):
    outside = tmp_path / "outside"
    if (results / place).exists():
        shutil.move(results / place, outside)
    outside.mkdir(exist_ok=True)
    (results / place).symlink_to(outside)
    script, words = {
        ".locks": ("bench/run.py", ["dataset=synthetic", "steps=2", "tracker=none", "engine=stacked"]),
        "wandb": ("bench/sync.py", ["results"]),
    }.get(place, ("bench/status.py", ["results"]))
    before = sorted(os.walk(outside))
    done = typed(*words, cwd=tmp_path, script=script, environment={**os.environ, "WANDB_MODE": "offline"})
    assert done.returncode == 2
    assert place in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(os.walk(outside)) == before


def test_figures_go_through_a_link_only_where_that_is_typed(results, tmp_path, capsys):
    (tmp_path / "outside").mkdir()
    (results / "figures").symlink_to(tmp_path / "outside")
    words = ["--results", str(results), "--figure", "final"]
    assert make_figures.main(words) == 2
    assert re.search(r"/figures\b.* link\b", capsys.readouterr().err)
    assert list((tmp_path / "outside").iterdir()) == []
    assert make_figures.main([*words, "--out", str(results / "figures")]) == 0
    assert (tmp_path / "outside" / "table_final.tex").exists()


def test_the_results_folder_itself_may_be_a_link(results, tmp_path):
    (tmp_path / "link").symlink_to(results)
    assert load(tmp_path / "link").equals(load(results))
    runs = [config(results=str(tmp_path / "link"), seed=seed) for seed in (0, 2)]
    assert run_all(runs, Console(quiet=True)) == 0
    assert len(list((results / "runs").iterdir())) == 3


@pytest.mark.parametrize("forged", ["facts.json", "runs.parquet", "rows.parquet"])
def test_an_archive_that_is_forged_is_a_sentence(made, tmp_path, forged):
    from analysis.archive import main

    assert main([str(made), str(tmp_path / "archive")]) == 0
    assert len(read(tmp_path / "archive").runs) == 2
    file = tmp_path / "archive" / forged
    for content in (b"", b"[1]", b"[null]", b'[{"host": []}, {}]', b"PAR1" * 9, b"[" * 100_000):
        file.write_bytes(content)
        with pytest.raises(NoData):
            read(tmp_path / "archive")
    file.unlink()
    os.mkfifo(file)
    if forged != "runs.parquet":  # without it there is no archive
        with pytest.raises(NoData, match="regular"):
            read(tmp_path / "archive")


def test_one_graph_that_is_none_costs_no_figure(results):
    run = next(iter((results / "runs").iterdir()))
    manifest = json.loads((run / "manifest.json").read_bytes())
    for edges, nodes in (([[0, 99]], 6), ([[0]], 6), ("x", 6), ([[0, 1]], 10**12), ([["a", "b"]], 6)):
        mixing = {**manifest["mixing"], "edge_list": edges, "nodes": nodes, "hash": "other"}
        write_json(run / "manifest.json", {**manifest, "mixing": mixing})
        picture = drawings()["graphs"].picture(read(results), FigureOptions())
        assert len(picture.figure.axes) == 1


def test_every_value_of_another_kind_is_damage_or_shown(results):
    run, count = next(iter((results / "runs").iterdir())), 0
    for name in JSON:
        whole = (run / name).read_bytes()
        for place in values_of(json.loads(whole)):
            for new in ODD[len(place[0]) % 4 :: 4]:
                sealed(run / name, put(json.loads(whole), place, new))
                found, count = examine(run), count + 1
                kinds = {*map(type, found.labels.values())}
                assert found.damaged or kinds <= {str, int, float, bool, list, type(None)}
        (run / name).write_bytes(whole)
    assert count > 600
    assert run_columns([look_at_run(run)])


def test_a_metric_that_is_called_as_a_label_is(results):
    run = next(iter((results / "runs").iterdir()))
    manifest = json.loads((run / "manifest.json").read_bytes())
    write_json(run / "manifest.json", {**manifest, "metrics": {"algo": {"label": "x", "more_is_better": True}}})
    assert load(results).attrs["unreadable"] == [run.name]
    assert SUMS not in load(results)


def test_metrics_that_are_no_numbers_are_not_read(results):
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"step": [0, 1], "train_loss": ["x" * 100] * 2}), sink)
    with pytest.raises(ValueError, match=r"'train_loss' .*'string'"):
        read_table(sink.getvalue().to_pybytes())


def test_lengths_that_overflow_are_no_index(results, tmp_path, monkeypatch):
    monkeypatch.setattr(index, "MANY", 1)
    table = load(results)
    (path,) = (path for path in results.rglob("*") if path.is_file() and path.read_bytes()[: len(MAGIC)] == MAGIC)
    (block,) = read_blocks(path)
    forged = {name: entry._replace(at=1, rows=2**63 - 1) for name, entry in block.entries.items()}
    with monkeypatch.context() as patch:
        patch.setattr(block_module, "_stamped", lambda block: block)  # writes the entries as they are
        write_blocks(path, [block._replace(entries=forged)])
    assert read_blocks(path) == []
    assert load(results).equals(table)


@pytest.mark.parametrize("how", ["negative", "reversed", "twice", "text"])
def test_an_archive_whose_rows_are_another_runs_is_a_sentence(made, tmp_path, how):
    write_archive(read(made), tmp_path)
    runs, rows = (pd.read_parquet(tmp_path / name) for name in (RUNS, ROWS))
    if how == "negative":
        rows["run"] = -1 - rows["run"]
    elif how == "reversed":
        rows = rows[::-1]
    elif how == "twice":
        runs["run_id"] = runs["run_id"].iloc[0]
    else:
        rows["train_loss"] = "low"
    runs.to_parquet(tmp_path / RUNS, index=False)
    rows.to_parquet(tmp_path / ROWS, index=False)
    with pytest.raises(NoData, match="archive"):
        read(without_digests(tmp_path))
