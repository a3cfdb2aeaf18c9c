"""Thousands of nodes: ARPACK agrees with the whole spectrum."""

import json
import shlex

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.build.manifest import describe_network
from bench.build.network import mixing_of
from bench.network import cache, certificate, spectrum
from bench.network.certificate import diameter
from bench.network.drawn import build_network
from bench.network.links import Lossy
from bench.network.mixing import Mixing, build_mixing
from bench.network.sparse import Arcs, Sparse
from bench.network.weights import weighed
from tests.helpers.cli import typed
from tests.helpers.configs import config

ALIKE = ["ring", "complete", "torus", "hypercube", "exponential"]
"""Graphs that look the same from every node."""


@pytest.mark.parametrize(
    ("name", "nodes"),
    [(name, 16) for name in (*ALIKE, "path", "star", "grid", "random", "directed_ring", "directed_exponential")]
    + [("one_peer_exponential", 16), ("random_digraph", 24), ("ladder", 30)],
)
@pytest.mark.parametrize("lossy", [False, True])
def test_a_large_network_is_certified_as_a_small_one_is(name, nodes, lossy, monkeypatch):
    def made():
        monkeypatch.setattr(cache, "_known", {})
        network = build_mixing(name, nodes)
        return (Lossy(p=0.2).over(network, 0) if lossy else network).certificate

    whole = made()
    monkeypatch.setattr(spectrum, "WHOLE", 0)
    large = made()
    for number in ("rho", "lambda_2", "lambda_n"):
        one, other = getattr(whole, number), getattr(large, number)
        assert other == (None if one is None else pytest.approx(one, rel=0, abs=1e-7 if one < 1e-6 else 1e-12)), number
    assert large.diameter == whole.diameter


def test_extreme_eigenvalues_by_iteration_and_by_factoring(monkeypatch):
    """An expander and a thin graph without a formula, where one of the two is slow."""
    for graph in (nx.random_regular_graph(4, 200, seed=1), nx.lollipop_graph(5, 195)):
        w = weighed(Arcs.of_graph(graph, "mine"), "metropolis").any
        expected = np.linalg.eigvalsh(w.dense())[[-2, 0]]
        monkeypatch.setattr(spectrum, "WHOLE", 0)
        assert spectrum.ends(w) == pytest.approx(tuple(expected), rel=0, abs=1e-12)
        assert spectrum.ends(w) == spectrum.ends(w)  # to the last bit: it begins at the same place


def test_a_product_that_averages_exactly_has_rho_zero(monkeypatch):
    monkeypatch.setattr(spectrum, "WHOLE", 0)
    monkeypatch.setattr(cache, "_known", {})
    assert build_mixing("one_peer_exponential", 256).certificate.rho == 0


@st.composite
def connected(draw) -> nx.Graph:
    """A strongly connected graph: a random tree, or a cycle of arcs, and a few more edges."""
    n, directed = draw(st.integers(2, 90)), draw(st.booleans())
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    graph = nx.empty_graph(n, create_using=nx.DiGraph if directed else nx.Graph)
    order = rng.permutation(n).tolist()
    if directed:
        graph.add_edges_from(zip(order, [*order[1:], order[0]], strict=True))
    else:
        near = draw(st.integers(1, n))
        graph.add_edges_from((order[i], order[rng.integers(max(0, i - near), i)]) for i in range(1, n))
    more = rng.integers(0, n, (draw(st.integers(0, 3 * n)), 2)).tolist()
    graph.add_edges_from((i, j) for i, j in more if i != j)
    return graph


@given(connected())
@settings(max_examples=80, deadline=None)
def test_the_diameter_equals_that_of_networkx(graph):
    heard = sp.csr_array(nx.to_scipy_sparse_array(graph, nodelist=range(len(graph)), weight=None).T)
    assert diameter(Sparse.of_scipy(sp.csr_array(heard + sp.eye_array(len(graph))))) == nx.diameter(graph)


@pytest.mark.parametrize("name", ["path", "ring", "star", "torus", "grid", "hypercube", "complete", "exponential"])
def test_the_diameter_of_graphs_by_name(name):
    for nodes in (16, 64):
        network = build_mixing(name, nodes)
        assert network.certificate.diameter == nx.diameter(nx.Graph(network.edges))


@pytest.mark.parametrize("kind", ["static", "lossy", "drawn", "turns", "laplacian"])
def test_ranks_reuse_the_results_of_the_runner(kind, monkeypatch):
    def made():
        if kind == "drawn":
            return build_network("matching", 12, {}, 3)
        if kind == "laplacian":
            return build_mixing("ladder", 12)
        network = build_mixing("one_peer_exponential", 16) if kind == "turns" else build_mixing("random", 12)
        return Lossy(p=0.2).over(network, 0) if kind == "lossy" else network

    monkeypatch.setattr(cache, "_known", {})
    first = made()
    handed = json.loads(json.dumps(cache.about(first.nodes)))
    assert handed
    assert cache.about(first.nodes + 1) == {}
    monkeypatch.setattr(cache, "_known", {})

    def never(*_):
        raise AssertionError("computed again")

    for name in ("ends", "diameter", "norm_off_average", "second_modulus"):
        monkeypatch.setattr(certificate, name, never)
    for place, name in (("faulty", "ends"), ("drawn", "_certify"), ("weights", "largest_eigenvalue")):
        monkeypatch.setattr(f"bench.network.{place}.{name}", never)
    with pytest.raises(AssertionError):
        made()
    cache.learn(handed)
    assert made().certificate == first.certificate


def test_the_cache_distinguishes_sequences_of_the_same_matrices(monkeypatch):
    """Rounds a b a and a b b have the same distinct matrices, and not the same product."""
    monkeypatch.setattr(cache, "_known", {})
    a, b = (m.any for m in build_mixing("one_peer_exponential", 4)._rounds)
    a, b = ([certificate.Matrices(w, w, w)] for w in (Sparse(a.pattern, a.values), Sparse(b.pattern, b.values).lazy()))
    rho = [Mixing(rounds, "turns").certificate.rho for rounds in (a + b + a, a + b + b)]
    assert rho == pytest.approx([1 / 2, 1 / 4])


@pytest.mark.parametrize("nodes", [150, 40])
def test_a_manifest_does_not_grow_with_the_square_of_the_nodes(nodes, tmp_path, monkeypatch):
    facts = describe_network(config(nodes=nodes, topology="complete"))
    edges = nodes * (nodes - 1) // 2
    assert facts["edges"] == edges
    if nodes == 40:
        assert len(facts["edge_list"]) == edges
        assert "edges_by" not in facts
        return
    assert "edge_list" not in facts
    assert len(json.dumps(facts)) < 2000
    command = shlex.split(facts["edges_by"])
    assert command[:2] == ["python", "bench/topology.py"]
    done = typed(*command[2:-1], "edges.txt", script=command[1], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    monkeypatch.chdir(tmp_path)
    again = mixing_of(config(nodes=nodes, topology={"name": "edges", "file": "edges.txt", "weights": "uniform"}))
    assert again.certificate.hash == facts["hash"]
