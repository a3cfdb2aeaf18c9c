"""Files of the same content have one path, so that their runs solve one problem."""

import pytest

from analysis.study.figure_options import FigureOptions
from analysis.tables import table_makers
from tests.helpers.invented import made


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("topology.file", "topology.file.content"),
        ("dataset.path", "dataset.path.content"),
        ("network.path", "network.content"),
    ],
)
def test_runs_with_copies_of_one_file_are_compared(path, content):
    rows = [
        {"algo": algo, "seed": seed, "eta": 0.1, path: f"{user}/file", content: "abc", "end": 0.5}
        for user, algo, seeds in (("alice", "dsgd", (0, 1)), ("bob", "dsgd", (2, 3)), ("bob", "dsgt", (0, 1, 2, 3)))
        for seed in seeds
    ]
    other = {"algo": "dsgd", "seed": 0, "eta": 0.1, path: "alice/other", content: "def", "end": 0.1}
    found = made([*rows, other])
    assert set(found.runs.loc[found.runs[content] == "abc", path]) == {"alice/file"}
    table = table_makers()["final"].make(found, FigureOptions()).data
    assert table.loc[table[content] == "abc"].set_index("algo")["runs"].to_dict() == {"dsgd": 4, "dsgt": 4}


def test_a_path_with_a_second_content_does_not_prevent_it():
    files = (("a.csv", "abc"), ("b.csv", "abc"), ("a.csv", "def"))
    rows = [{"dataset.path": path, "dataset.path.content": content} for path, content in files]
    found = made([{"algo": "dsgd", "seed": seed, "end": 0.5, **row} for seed, row in enumerate(rows)])
    assert list(found.runs["dataset.path"]) == ["a.csv", "a.csv", "a.csv"]


def test_runs_without_a_known_content_keep_their_paths():
    rows = [{"algo": "dsgd", "seed": k, "dataset.path": f"{k}.csv", "dataset.path.content": None} for k in range(2)]
    known = {"algo": "dsgd", "seed": 2, "dataset.path": "2.csv", "dataset.path.content": "abc"}
    found = made([{**row, "end": 0.5} for row in (*rows, known)])
    assert list(found.runs["dataset.path"]) == ["0.csv", "1.csv", "2.csv"]


def test_a_path_may_have_any_name():
    rows = [{"self": path, "self.content": "abc"} for path in ("a.csv", "b.csv")]
    found = made([{"algo": "dsgd", "seed": seed, "end": 0.5, **row} for seed, row in enumerate(rows)])
    assert list(found.runs["self"]) == ["a.csv", "a.csv"]
