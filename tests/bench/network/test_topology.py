"""Graphs that users bring, through the real command line."""

from functools import partial

import numpy as np
import pytest

from bench.base.registry import topologies
from bench.network.drawing import positions, svg
from bench.network.mixing import build_mixing
from tests.helpers.cli import typed
from tests.helpers.few import few

look = partial(typed, script="bench/topology.py")
RING = "0 1\n1 2\n2 3\n3 0\n"


def write(folder, files: dict) -> None:
    for name, content in files.items():
        if isinstance(content, np.ndarray):
            if name.endswith(".npy"):
                np.save(folder / name, content)
            else:
                np.savetxt(folder / name, content, delimiter=",")
        else:
            (folder / name).write_text(content)


def test_a_graph_and_matrices_of_ones_own(tmp_path):
    w = build_mixing("ring", 4, weights="metropolis").matrices[0]
    write(tmp_path, {"ring.txt": "# mine\n" + RING.replace(" ", ", "), "w.csv": w, "w.npy": w})
    quick = ("nodes=4", "steps=20", "algo=dsgd", "dataset.evaluation=50", "eval_every=10", "engine=stacked")
    losses = set()
    for words in (
        ("topology=edges", "topology.file=ring.txt"),
        ("topology=matrix", "topology.file=w.csv"),
        ("topology=matrix", "topology.file=w.npy"),
    ):
        done = typed(*words, *quick, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        losses.add(done.stdout.split("│")[5].strip())
    assert len(losses) == 1  # three ways to say the same matrix
    lazy = look("topology=matrix", "topology.file=w.npy", "nodes=4", "topology.lazy=true", cwd=tmp_path)
    assert "λₙ = 0.333333" in lazy.stdout


def test_the_content_of_a_file_is_part_of_the_run(tmp_path):
    write(tmp_path, {"graph.txt": RING})
    quick = (
        "topology=edges",
        "topology.file=graph.txt",
        "nodes=4",
        "steps=10",
        "dataset.evaluation=50",
        "engine=stacked",
    )
    for content in (RING, RING + "0 2\n"):
        write(tmp_path, {"graph.txt": content})
        assert typed(*quick, cwd=tmp_path).returncode == 0
    assert len(list((tmp_path / "results/runs").iterdir())) == 2


EDGES = ("topology=edges", "topology.file=g.txt", "nodes=4")
MATRIX = ("topology=matrix", "topology.file=w.csv", "nodes=3")
EYE = np.eye(3)

BAD = {
    "no file given": (("topology=edges",), {}, "topology=edges needs topology.file=PATH."),
    "no such file": (EDGES, {}, "g.txt: No such file"),
    "disconnected": (EDGES, {"g.txt": "0 1\n2 3\n"}, "not connected: nodes [0, 1] cannot reach the others"),
    "self-loop": (EDGES, {"g.txt": RING + "2 2\n"}, "g.txt, line 5: node 2 is joined to itself"),
    "duplicate": (EDGES, {"g.txt": RING + "1 0\n"}, "g.txt, line 5: the edge 1 – 0 is there already."),
    "out of range": (EDGES, {"g.txt": RING + "1 4\n"}, "g.txt, line 5: node 4 is out of range; with nodes=4"),
    "no numbers": (EDGES, {"g.txt": "a b\n"}, "g.txt, line 1: expected two node numbers, got 'a b'."),
    "not square": (MATRIX, {"w.csv": np.ones((3, 2)) / 2}, "must be square; it has shape (3, 2)"),
    "ragged": (MATRIX, {"w.csv": "1,0\n1\n"}, "w.csv is no matrix of numbers"),
    "only turns": (
        MATRIX,
        {"w.csv": np.roll(EYE, 1, axis=1)},
        "never reaches agreement: ρ = 1.000000",
    ),
    "rows": (MATRIX, {"w.csv": EYE * 0.9}, "row 0 sums to 0.9 "),
    "negative": (MATRIX, {"w.csv": 2 * EYE - np.ones((3, 3)) / 3}, "negative entry -0.333333 at (0, 1)"),
    "wrong size": (MATRIX, {"w.csv": np.ones((4, 4)) / 4}, "w.csv is a matrix for 4 nodes; set nodes=4."),
    "pickle": (
        ("topology=matrix", "topology.file=w.npy", "nodes=2"),
        {"w.npy": np.array([[print, 1], [1, 1]], dtype=object)},
        "w.npy is no matrix of numbers",
    ),
    "hypercube": (("topology=hypercube", "nodes=6"), {}, "got 6. The nearest are 4 and 8."),
    "one-peer": (("topology=one_peer_exponential", "nodes=12"), {}, "got 12."),
    "prime torus": (("topology=torus", "nodes=7"), {}, "7 nodes make no torus of two rows or more"),
    "rows of a grid": (("topology=grid", "topology.rows=3"), {}, "topology.rows=3 does not divide 8 nodes."),
    "d2 on a drawn graph": (("topology=random_each_round", "algo=d2"), {}, "'random_each_round' is drawn anew"),
    "model of a stream": (("model=mlp",), {}, "dataset=synthetic brings its own model"),
    "batch": (
        ("dataset=digits", "batch_size=200"),
        {},
        "batch_size=200 is larger than the smallest shard, 179 samples",
    ),
    "too many nodes": (("dataset=digits", "nodes=2000"), {}, "1438 samples of digits do not give each of 2000 nodes"),
}


QUICK = ["no file given", "disconnected", "out of range", "not square", "rows", "wrong size", "pickle", "hypercube"]


@pytest.mark.parametrize("case", few(BAD, [*QUICK, "prime torus", "model of a stream", "batch"]))
def test_bad_graphs_get_a_sentence_and_leave_nothing(case, tmp_path):
    words, files, sentence = BAD[case]
    write(tmp_path, files)
    done = typed(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == set(files)


def test_the_command_shows_certificate_and_matrix_and_writes_the_drawing(tmp_path):
    done = look("topology=ladder", "nodes=8", "--svg", "ladder.svg", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "ladder: 8 nodes, 10 edges, diameter 4" in done.stdout
    assert "ρ = 0.891806" in done.stdout
    assert "0.6306 0.1847" in done.stdout
    assert (tmp_path / "ladder.svg").read_text().count("<line") == 10
    wrong = look("topology=ladder", "nodes=7", cwd=tmp_path)
    assert wrong.returncode == 2
    assert "even" in wrong.stderr


SHOWN = {
    "directed": (
        ("topology=random_digraph", "nodes=6"),
        (
            "arcs, diameter",
            "rows sum to one (pull), columns sum to one (push)",
            "not: symmetric",
            "push, columns",
            "pull, rows",
        ),
    ),
    "drawn": (
        ("topology=matching", "nodes=6"),
        ("3 edges a round on average", "not: static", "11ᵀ/n‖₂, exactly", "W(2) ="),
    ),
    "lossy": (
        ("topology=ring", "nodes=6", "links=lossy", "links.p=0.3"),
        ("not: static", "without loss, ρ = 0.666667", "E[W²]", "W of step", "zero_fill    1.0e+00"),
    ),
    "one way": (
        ("topology=directed_ring", "nodes=4", "links=one_way", "links.p=0.3"),
        ("ρ is not known: messages arrive late", "nobody knows", "running sums"),
    ),
    "negative": (
        ("topology=row_stochastic", "topology.allow_biased=true"),
        ("not: columns sum to one, symmetric", "the average is NOT kept", "the second largest |eigenvalue|"),
    ),
}


@pytest.mark.parametrize("case", few(SHOWN, ["directed"]))
def test_the_command_shows_every_kind_of_network(case, tmp_path):
    words, sentences = SHOWN[case]
    done = look(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [sentence for sentence in sentences if sentence not in done.stdout] == []
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_the_largest_matrix_fits_the_terminal(tmp_path):
    done = look("topology=complete", "nodes=16", cwd=tmp_path)
    rows = [line for line in done.stdout.splitlines() if line.startswith(".06")]
    assert len(rows) == 16
    assert max(map(len, done.stdout.splitlines())) <= 80


@pytest.mark.parametrize("name", ["ring", "path", "star", "complete", "ladder", "hypercube"])
@pytest.mark.parametrize("nodes", [1, 2, 4, 128])
def test_every_size_can_be_drawn(name, nodes):
    if (name, nodes) in {("ladder", 1), ("complete", 128)}:  # no such ladder; eight thousand edges are no drawing
        return
    mixing = build_mixing(name, nodes)
    xy = positions(mixing)
    assert xy.shape == (nodes, 2)
    assert xy.min() >= -1e-12
    assert xy.max() <= 1 + 1e-12
    assert len({tuple(row) for row in xy.round(6)}) == nodes
    assert svg(mixing).count("<circle") == nodes


def test_a_ladder_is_drawn_as_one():
    """Four rungs of equal length that do not cross."""
    xy = positions(build_mixing("ladder", 8))
    rungs = [xy[i + 4] - xy[i] for i in range(4)]
    assert np.abs(np.diff(rungs, axis=0)).max() < 0.2
    assert "ladder" in set(topologies)
