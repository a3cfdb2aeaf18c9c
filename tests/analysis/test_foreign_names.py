"""Names and labels of others: they lead to no other place, and a long or strange one costs its own run alone."""

import json
import shutil
from types import SimpleNamespace

import pandas as pd
import pytest
from rich.console import Console

from analysis import load, make_figures, make_report
from analysis.results import from_wandb, index
from analysis.results.archive import RUNS, write_archive
from analysis.results.block import read_blocks, write_blocks
from analysis.results.errors import NoData
from analysis.results.labels import methods
from analysis.results.read import read
from analysis.results.wording import natural_order
from analysis.tables.latex import tex
from bench.base.errors import UserError
from bench.store.integrity import examine
from bench.store.kinds import LONGEST
from bench.sweep.preflight import check
from bench.sweep.sweep import run_all
from tests.faults.harm_forged import sealed
from tests.helpers.archives import without_digests
from tests.helpers.configs import config
from tests.helpers.readers import at_most, page_of, status_of

SECRET = "my private key"
DIGITS = ["²", "①", "1" * 5000, "٣", "nan", "x²y10", "1" * 20]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    assert run_all([config(results=str(folder), seed=seed) for seed in (0, 1)], Console(quiet=True)) == 0
    return folder


@pytest.fixture
def results(made, tmp_path):
    return shutil.copytree(made, tmp_path / "results")


@pytest.fixture
def archive(made, tmp_path):
    write_archive(read(made), tmp_path / "archive")
    return tmp_path / "archive"


def change(run, name, **values):
    sealed(run / name, {**json.loads((run / name).read_bytes()), **values})


def forge(archive, **labels):
    """Other labels for the first run of an archive."""
    runs = pd.read_parquet(archive / RUNS)
    for name, value in labels.items():
        runs[name] = [value, *runs[name][1:]]
    runs.to_parquet(archive / RUNS, index=False)
    without_digests(archive)


def secret_run(folder):
    folder.mkdir(parents=True)
    for name in ("config.yaml", "log.txt"):
        (folder / name).write_text(SECRET)
    sealed(folder / "status.json", {"state": "failed", "step": 1, "error": SECRET})


@pytest.mark.parametrize(
    "name", ["{outside}", "../../outside", "..", ".", "", "a/b", "a\\b", "a\x1b[2J", "a\nb", "x" * 999]
)
def test_rejects_an_archive_with_a_run_id_that_is_no_name(archive, tmp_path, name):
    secret_run(tmp_path / "outside")
    forge(archive, run_id=name.format(outside=tmp_path / "outside"), state="nonfinite")
    with pytest.raises(NoData):
        read(archive)
    assert make_report.main(["--results", str(archive)]) == 2
    assert not (archive / "report.html").exists()


@pytest.mark.parametrize("link", ["none", "runs", "run"])
def test_reads_no_run_folder_of_an_archive(archive, tmp_path, capsys, link):
    run = read(archive).runs["run_id"][0]
    forge(archive, state="nonfinite")
    outside = tmp_path / "outside"
    secret_run(outside / run)
    if link == "none":
        shutil.copytree(outside, archive / "runs")
    elif link == "runs":
        (archive / "runs").symlink_to(outside)
    else:
        (archive / "runs").mkdir()
        (archive / "runs" / run).symlink_to(outside / run)
    assert make_report.main(["--results", str(archive)]) == 2
    assert SECRET not in capsys.readouterr().err
    assert not (archive / "report.html").exists()


@pytest.mark.parametrize("link", ["runs", "run"])
def test_the_page_follows_no_link_of_a_results_folder(results, tmp_path, link):
    found = read(results)
    run = found.runs["run_id"][0]
    place = results / "runs" if link == "runs" else results / "runs" / run
    place.rename(tmp_path / "before")
    outside = tmp_path / "outside"
    secret_run(outside / run)
    place.symlink_to(outside if link == "runs" else outside / run)
    if link == "runs":
        with pytest.raises(OSError, match="link"):
            read(results)
    else:
        assert SECRET not in page_of(results)
        assert read(results).unreadable == [run]


@pytest.mark.parametrize("name", ["../../x", "/tmp/x", "", "a\x1b", 3])
def test_skips_a_wandb_run_with_an_invalid_id(monkeypatch, name):
    good = {
        "algo": "dsgd",
        "topology": "ring",
        "dataset": "digits",
        "seed": 0,
        "nodes": 4,
        "steps": 2,
        "run_id": "good",
    }
    runs = [
        SimpleNamespace(config=config, summary={"state": "done"}, state="finished", history=lambda **_: [{"step": 2}])
        for config in (good, {**good, "run_id": name})
    ]
    monkeypatch.setattr(from_wandb, "unreachable", lambda: None)
    monkeypatch.setattr(from_wandb.wandb, "Api", lambda **_: SimpleNamespace(runs=lambda *_, **__: runs))
    found = from_wandb.load_wandb("me/project")
    assert [*found.runs["run_id"]] == ["good"]
    assert found.unreadable == [str(name)]
    assert found.folder is None


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (1, 3, 0, 2)])
def test_a_run_that_several_trials_uploaded_counts_once(monkeypatch, order):
    """The newest finished one: later ones were interrupted."""
    trials = [("done", 1), ("done", 2), ("interrupted", 3), ("running", 4)]
    config = {"algo": "dsgd", "topology": "ring", "dataset": "digits", "seed": 0, "nodes": 4, "steps": 2, "run_id": "a"}
    runs = [
        SimpleNamespace(
            config=config,
            summary={"state": state},
            state="finished",
            created_at=f"2026-01-0{day}T00:00:00Z",
            history=lambda day=day, **_: [{"step": step, "train_loss": float(day)} for step in (0, 2)],
        )
        for state, day in trials
    ]
    monkeypatch.setattr(from_wandb, "unreachable", lambda: None)
    api = SimpleNamespace(runs=lambda *_, **__: [runs[place] for place in order])
    monkeypatch.setattr(from_wandb.wandb, "Api", lambda **_: api)
    found = from_wandb.load_wandb("me/project")
    assert (found.copies, [*found.runs["state"]], [*found.rows["step"]]) == ([], ["done"], [0, 2])
    assert [*found.finals["train_loss"]] == [2.0]


def test_sorts_digits_of_any_kind():
    for words in (DIGITS, ["s2", "s10"]):
        assert sorted([*words], key=natural_order)
        assert set(methods(words)) == {*words}
        assert all(tex(f"1e{word}") for word in words)
    assert sorted(["s10", "s2", "0.5", "1e-05"], key=natural_order) == ["1e-05", "0.5", "s2", "s10"]


@pytest.mark.parametrize("word", DIGITS[:3])
def test_labels_may_be_digits_of_any_kind(results, word):
    run = min((results / "runs").iterdir())
    manifest = json.loads((run / "manifest.json").read_bytes())
    told = {**manifest["algorithm"], "name": word, "label": word, "family": word}
    change(run, "summary.json", algo=word, topology=word, dataset=word)
    change(run, "manifest.json", algorithm=told)
    assert page_of(results)
    words = ["--results", str(results), "--format", "png", "--figure", "final,methods,configurations"]
    assert make_figures.main(words) == 0


@pytest.mark.parametrize(
    ("file", "values"),
    [
        ("summary.json", {"topology": "y" * 8_000_000}),
        ("summary.json", {"option": "y" * 20_000}),
        ("summary.json", {"option": ["y"] * 20_000}),
        ("summary.json", {"y" * 20_000: 1}),
        ("manifest.json", {"algorithm": {"label": "y" * 20_000}}),
        ("manifest.json", {"versions": {"y" * 20_000: "1"}}),
        ("manifest.json", {"metrics": {"train_x": {"label": "y" * 20_000}}}),
    ],
)
def test_a_long_text_damages_only_its_run(results, tmp_path, file, values):
    run, other = sorted((results / "runs").iterdir())
    change(run, file, **values)
    assert file in examine(run).damaged
    assert len(examine(run).sentence()) < 300
    with at_most(60):
        assert load(results).attrs["unreadable"] == [run.name]
        assert f"{run.name} is damaged" in status_of(results)
        drawn = "topology" in values or "algorithm" in values  # once per file: load() skips the run for all readers
        assert not drawn or other.name in page_of(results)
        figures = "final,curves" if drawn else "final"
        words = ["--results", str(results), "--out", str(tmp_path), "--format", "png", "--figure", figures]
        assert make_figures.main(words) == 0


@pytest.mark.parametrize("file", ["summary.json", "manifest.json", "status.json"])
def test_commands_and_errors_may_be_long(results, file):
    run = min((results / "runs").iterdir())
    values = {
        "summary.json": {"dataset.path": "y" * LONGEST},
        "manifest.json": {"sweep": "y" * 10**5, "also": ["y" * 10**5], "pythonpath": "y" * 10**5},
        "status.json": {"error": "y" * 10**5},
    }[file]
    change(run, file, **values)
    assert not examine(run).damaged


def test_a_long_sweep_is_not_a_command(results):
    run = min((results / "runs").iterdir())
    change(run, "manifest.json", sweep="y" * 8_000_000)
    with at_most(10):
        assert page_of(results)


def test_an_index_with_a_long_label_is_not_used(results, monkeypatch):
    monkeypatch.setattr(index, "MANY", 1)
    table, path = load(results), index.file_of(results)
    (block,) = read_blocks(path)
    for label in ({"topology": "y" * 20_000}, {"y" * 20_000: 1}):
        entries = {name: entry._replace(labels={**entry.labels, **label}) for name, entry in block.entries.items()}
        write_blocks(path, [block._replace(entries=entries)])
        assert read_blocks(path) == []
    assert load(results).equals(table)


@pytest.mark.parametrize("labels", [{"topology": "y" * 20_000}, {"partition": "y" * 20_000}])
def test_rejects_an_archive_with_a_long_label(archive, labels):
    forge(archive, **labels)
    with pytest.raises(NoData):
        read(archive)


def test_rejects_a_run_whose_labels_would_be_too_long(tmp_path):
    with pytest.raises(UserError, match=str(LONGEST + 1)):
        check(config(results="y" * (LONGEST + 1)))
