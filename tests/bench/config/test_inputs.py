"""Files that options name: an edited file never gives a run the numbers of its earlier content."""

import os
from pathlib import Path

import numpy as np
import pytest

from bench.base.errors import UserError
from bench.base.imported import sha256
from bench.base.registry import partitions
from bench.build import material, network
from bench.build.material import load_arrays
from bench.build.network import mixing_of
from bench.build.rehearsal import program_key
from bench.sweep.preflight import check
from datasets.partitions import even
from tests.helpers.configs import config, rows
from tests.helpers.trial_plugins import isolate


def table(sign):
    x = np.random.default_rng(0).normal(size=(60, 2))
    return "a,b,y\n" + "\n".join(f"{a:.3f},{b:.3f},{int(a + sign * b > 0)}" for a, b in x)


FILES = {
    "matrix": (lambda p: {"topology": {"name": "matrix", "file": p}}, "0.6 0.4\n0.4 0.6\n", "0.8 0.2\n0.2 0.8\n"),
    "edges": (lambda p: {"topology": {"name": "edges", "file": p}, "nodes": 4}, "0 1\n1 2\n2 3\n", "0 1\n0 2\n0 3\n"),
    "data": (lambda p: {"dataset": {"name": "file", "path": p, "column": "y"}}, table(1), table(-1)),
}


def end(run):
    return [rows(run)[0][-1][name] for name in ("consensus", "train_loss")]


@pytest.fixture(params=FILES)
def own(request, tmp_path):
    """A function that writes the earlier (0) or later (1) content of a file, and one that makes a configuration."""
    path = tmp_path / "mine.csv"
    changes, *contents = FILES[request.param]
    settings = {"nodes": 2, "steps": 5, "eval_every": 5, **changes(str(path))}
    return lambda i: path.write_text(contents[i]), lambda: config(**settings)


def test_a_run_has_the_numbers_of_the_content_in_its_run_id(own):
    write, make = own
    found = []
    for i in (0, 1):
        write(i)
        run = make()
        found.append((run.run_id, end(run), program_key(run)))
    network._mixing.cache_clear()
    material._load.cache_clear()
    assert end(make()) == found[1][1]  # as a new process
    assert all(one != other for one, other in zip(*found, strict=True))


def test_a_file_that_is_edited_before_it_is_read_is_named(own):
    write, make = own
    write(0)
    run = make()
    assert run.run_id
    write(1)
    network._mixing.cache_clear()
    material._load.cache_clear()
    with pytest.raises(UserError, match=r"mine\.csv"):
        rows(run)


def test_a_run_goes_on_with_the_content_that_it_has_read(own):
    write, make = own
    write(0)
    run = make()
    before = end(run)
    write(1)
    assert end(make()) != before
    assert end(run) == before


def test_one_snapshot_serves_the_run_id_and_the_labels(own):
    write, make = own
    write(0)
    run = make()
    inputs = run.inputs
    write(1)
    later, labels = make(), run.labels()
    assert run.run_id != later.run_id
    assert [labels[f"{file.option}.content"] for file in inputs] == [file.sha256[:16] for file in inputs]


def test_an_edited_data_file_is_checked_again(tmp_path):
    path = tmp_path / "d.csv"
    data = {"name": "file", "path": str(path), "column": "y"}
    path.write_text(table(1))
    check(config(dataset=data))
    path.write_text(table(1).replace("\n", "\n,", 1))
    with pytest.raises(UserError):
        check(config(dataset=data))


def test_a_file_that_is_read_by_the_run_itself_is_checked(tmp_path, monkeypatch):
    """Partitions, models and methods of plug-ins are built for every run."""
    isolate(monkeypatch)
    path = tmp_path / "p.txt"

    def own(labels, nodes, g, *, file: Path | None = None):
        path.write_text(f"{path.read_text()} again")
        return even(labels, nodes, g)

    partitions.add("own_file", own)
    path.write_text("1")
    with pytest.raises(UserError, match=r"p\.txt"):
        rows(config(dataset="digits", partition={"name": "own_file", "file": str(path)}))


def test_an_edit_with_the_earlier_time_and_size_is_noticed(tmp_path):
    path = tmp_path / "w.csv"
    path.write_text("0 1")
    os.utime(path, (1e9, 1e9))
    first = sha256(path)
    path.write_text("1 0")
    os.utime(path, (1e9, 1e9))
    assert sha256(path) != first


@pytest.mark.parametrize("option", ["topology.file", "dataset.path"])
@pytest.mark.parametrize("make", [lambda p: None, os.mkfifo, os.mkdir], ids=["missing", "FIFO", "folder"])
def test_rejects_what_is_not_a_regular_file(option, make, tmp_path):
    make(path := tmp_path / "x.csv")
    group, _, name = option.partition(".")
    member = {"topology": "edges", "dataset": "file"}[group]
    run = config(**{group: {"name": member, name: str(path)}})
    for use in (mixing_of if group == "topology" else load_arrays, lambda run: run.run_id):
        with pytest.raises(UserError, match=rf"{option}.*x\.csv"):
            use(run)


def test_a_file_that_would_take_minutes_to_read_is_rejected_at_once(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("a,b,y\n")
    os.truncate(path, 8 << 40)  # sparse: it takes no space
    with pytest.raises(UserError, match=r"mine\.csv has 8.8e\+03 GB"):
        config(dataset={"name": "file", "path": str(path), "column": "y"}).run_id  # noqa: B018
