"""Graphs and matrices from files, rejected networks, and the command that shows a network."""

import io
from functools import partial

import networkx as nx
import numpy as np
import pytest

from bench.base.errors import Refused, UserError
from bench.base.registry import topologies
from bench.build.network import mixing_of
from bench.network import from_file
from bench.network.drawing import positions, svg
from bench.network.graphs import topology
from bench.network.mixing import build_mixing
from bench.sweep.preflight import check
from tests.helpers.cli import typed
from tests.helpers.configs import config, rows
from tests.helpers.few import few
from tests.helpers.trial_plugins import isolate

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
            (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)


def test_one_network_from_three_files(tmp_path, monkeypatch):
    w = build_mixing("ring", 4, weights="metropolis").matrices[0]
    write(tmp_path, {"ring.txt": "# mine\n" + RING.replace(" ", ", "), "w.csv": w, "w.npy": w})
    monkeypatch.chdir(tmp_path)
    files = [("edges", "ring.txt"), ("matrix", "w.csv"), ("matrix", "w.npy")]
    some = [config(topology={"name": name, "file": file}, nodes=4, steps=20) for name, file in files]
    assert len({rows(one)[0][-1]["train_loss"] for one in some}) == 1
    lazy = config(topology={"name": "matrix", "file": "w.npy", "lazy": True}, nodes=4)
    assert mixing_of(lazy).certificate.lambda_n == pytest.approx(1 / 3)


def test_the_content_of_a_file_is_part_of_the_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = set()
    for content in (RING, RING + "0 2\n"):
        write(tmp_path, {"graph.txt": content})
        names.add(config(topology={"name": "edges", "file": "graph.txt"}, nodes=4).run_id)
    assert len(names) == 2


EDGES = {"topology": {"name": "edges", "file": "g.txt"}, "nodes": 4}
MATRIX = {"topology": {"name": "matrix", "file": "w.csv"}, "nodes": 3}
EYE = np.eye(3)

NPY = {"topology": {"name": "matrix", "file": "w.npy"}, "nodes": 2}


def npy(shape: str, dtype: str = "<f8") -> bytes:
    """A file of the npy format with this shape in its header, and no numbers."""
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}}}".encode()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header


def npz() -> bytes:
    file = io.BytesIO()
    np.savez(file, a=np.eye(2))
    return file.getvalue()


BAD = {
    "no file given": ({"topology": "edges"}, {}, "topology=edges .*topology.file=PATH"),
    "disconnected": (EDGES, {"g.txt": "0 1\n2 3\n"}, r"'edges'.*\[0, 1\]"),
    "self-loop": (EDGES, {"g.txt": RING + "2 2\n"}, r"g\.txt, line 5: node 2 "),
    "duplicate": (EDGES, {"g.txt": RING + "1 0\n"}, r"g\.txt, line 5: .* 1 – 0 "),
    "out of range": (EDGES, {"g.txt": RING + "1 4\n"}, r"g\.txt, line 5: node 4 .*nodes=4"),
    "no numbers": (EDGES, {"g.txt": "a b\n"}, r"g\.txt, line 1: .*'a b'"),
    "not square": (MATRIX, {"w.csv": np.ones((3, 2)) / 2}, r"'matrix'.*\(3, 2\)"),
    "ragged": (MATRIX, {"w.csv": "1,0\n1\n"}, r"w\.csv"),
    "permutation": (MATRIX, {"w.csv": np.roll(EYE, 1, axis=1)}, "'matrix'.*ρ = 1.000000"),
    "rows": (MATRIX, {"w.csv": EYE * 0.9}, "row 0 .*0.9 "),
    "negative": (MATRIX, {"w.csv": 2 * EYE - np.ones((3, 3)) / 3}, "-0.333333 .*row 0, column 1"),
    "wrong size": (MATRIX, {"w.csv": np.ones((4, 4)) / 4}, r"w\.csv .* 4 .*nodes=4"),
    "one number": ({**NPY, "nodes": 1}, {"w.npy": np.array(1.0)}, r"w\.npy"),
    "pickle": (NPY, {"w.npy": np.array([[print, 1], [1, 1]], dtype=object)}, r"w\.npy"),
    "complex": (NPY, {"w.npy": np.full((2, 2), 0.5 + 0.1j)}, r"w\.npy.*complex128"),
    "an npz file": (NPY, {"w.npy": npz()}, r"w\.npy.* npz .*np\.save"),
    "a nested header": (NPY, {"w.npy": npy("(" + "-" * 9000 + "1,)")}, r"w\.npy.*header"),
    "an open header": (NPY, {"w.npy": npy("(" * 9000)}, r"w\.npy.*header"),
    "a huge header": (NPY, {"w.npy": npy("(1099511627776, 1024)")}, r"w\.npy.*1099511627776, 1024"),
    "no bytes": (NPY, {"w.npy": npy("(1000000, 1000000)", "<U0")}, r"w\.npy.*<U0; save"),
    "an endless length": (NPY, {"w.npy": npy("(0, 99999999999999999999)")}, r"w\.npy.*nodes=2"),
    "many bytes": (NPY, {"w.npy": np.ones(2_000_000, np.int8)}, r"w\.npy.*nodes=2"),
    "many rows": (MATRIX, {"w.csv": "1 1 1\n" * 400_000}, r"w\.csv.*nodes=3"),
    "many empty rows": (MATRIX, {"w.csv": "\n" * 2_000_000}, r"w\.csv.*nodes=3"),
    "a long row": (MATRIX, {"w.csv": "1 " * 600_000}, r"w\.csv.*1048576"),
    "a large file": (MATRIX, {"w.csv": "1 " * 17_000_000}, r"w\.csv.*34 MB.*nodes=3"),
    "hypercube": ({"topology": "hypercube", "nodes": 6}, {}, "hypercube.* 6.* 4 and 8"),
    "one-peer": ({"topology": "one_peer_exponential", "nodes": 12}, {}, "one_peer_exponential.* 12"),
    "prime torus": ({"topology": "torus", "nodes": 7}, {}, "torus.* 7"),
    "rows of a grid": ({"topology": {"name": "grid", "rows": 3}, "nodes": 8}, {}, "topology.rows .*8.*3"),
    "d2 on a drawn graph": ({"topology": "random_each_round", "algo": "d2"}, {}, "d2 .*'random_each_round'"),
    "model of a stream": ({"model": "mlp"}, {}, "dataset=synthetic .*model"),
    "batch": ({"dataset": "digits", "batch_size": 200, "nodes": 8}, {}, "batch_size=200 .* 179 "),
    "too many nodes": ({"dataset": "digits", "nodes": 2000}, {}, "1438 .*digits.* 2000 "),
}


@pytest.mark.parametrize("case", BAD)
def test_rejects_invalid_networks_before_a_run(case, tmp_path, monkeypatch):
    changes, files, values = BAD[case]
    write(tmp_path, files)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=values):
        check(config(**changes))
    assert {path.name for path in tmp_path.iterdir()} == set(files)


@pytest.mark.parametrize("nodes", [4, 5])
@pytest.mark.parametrize(("kind", "remedy"), [(nx.MultiGraph, "nx.Graph"), (nx.MultiDiGraph, "nx.DiGraph")])
def test_a_sweep_skips_multigraphs_of_plugins(kind, remedy, nodes, monkeypatch):
    isolate(monkeypatch)
    topology("several edges")(lambda nodes: kind(nx.cycle_graph(nodes)))
    with pytest.raises(Refused, match=rf"'several edges' .*{kind.__name__}\..*{remedy}\(graph\)"):
        check(config(topology="several edges", nodes=nodes))


@pytest.mark.parametrize("weight", [1, 1.0, 3])
def test_rejects_weights_of_edges_which_would_have_no_effect(weight, monkeypatch):
    isolate(monkeypatch)
    topology("heavy")(lambda nodes: nx.Graph((k, (k + 1) % nodes, {"weight": weight}) for k in range(nodes)))
    if weight == 1:
        check(config(topology="heavy", nodes=5))
    else:
        with pytest.raises(UserError, match=r"'heavy'.*topology\.weights"):
            check(config(topology="heavy", nodes=5))


def test_the_command_shows_certificate_and_matrix_and_writes_the_drawing(tmp_path):
    done = look("topology=ladder", "nodes=8", "--svg", "ladder.svg", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "ladder: 8 nodes, 10 edges, diameter 4" in done.stdout
    assert "ρ = 0.891806" in done.stdout
    assert "0.6306 0.1847" in done.stdout
    assert (tmp_path / "ladder.svg").read_text().count("<line") == 10
    wrong = look("topology=ladder", "nodes=7", cwd=tmp_path)
    assert wrong.returncode == 2
    assert "got 7" in wrong.stderr


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
        ("3 edges per round on average", "not: static", "11ᵀ/n‖₂, exactly", "W(2) ="),
    ),
    "lossy": (
        ("topology=ring", "nodes=6", "links=lossy", "links.p=0.3"),
        ("not: static", "without loss, ρ = 0.666667", "E[W²]", "W of step", "zero_fill    1.0e+00"),
    ),
    "one way": (
        ("topology=directed_ring", "nodes=4", "links=one_way", "links.p=0.3"),
        ("arrive late", "without notice", "running sums"),
    ),
    "negative": (
        ("topology=row_stochastic", "topology.allow_biased=true"),
        ("not: columns sum to one, symmetric", "NOT preserved", "the second largest |eigenvalue|"),
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


@pytest.mark.parametrize("name", ["edges", "matrix"])
def test_a_file_that_is_too_large_for_the_nodes_is_not_read(name, tmp_path):
    with (tmp_path / "sparse.txt").open("wb") as file:
        file.truncate(1 << 31)
    with pytest.raises(UserError, match=r"2\.15e\+03 MB.*nodes=4"):
        topologies[name].graph(4, file=tmp_path / "sparse.txt")


@pytest.mark.parametrize("blank", ["\n", "\r", " , \n", "# nothing\n"])
def test_a_list_of_edges_has_a_limit_of_lines_without_one(blank, tmp_path, monkeypatch):
    monkeypatch.setattr(from_file, "NUMBERS", 6)
    for count in (6, 7):
        (tmp_path / "ring.txt").write_bytes((RING * (count < 7) + blank * count + RING * (count > 6)).encode())
        if count == 6:
            assert len(topologies["edges"].graph(4, file=tmp_path / "ring.txt").edges) == 4
    with pytest.raises(UserError, match=r"ring\.txt\b.*\b6\b"):
        topologies["edges"].graph(4, file=tmp_path / "ring.txt")
