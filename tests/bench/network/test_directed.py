"""Directed networks: their matrices and certificates, and the methods that they reject."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.base.errors import UserError
from bench.base.registry import algorithms
from bench.network.mixing import Mixing, build_mixing
from bench.network.sparse import Arcs
from bench.network.weights import weighed


def serves(method, network):
    network.must_serve(algorithms[method].declare_for({}))


def test_the_directed_ring_by_hand():
    ring = build_mixing("directed_ring", 4)
    assert ring.edges == [(0, 1), (1, 2), (2, 3), (3, 0)]  # from source to target
    w = ring.at(0).mix.dense()
    assert w == pytest.approx(np.array([[1, 0, 0, 1], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]) / 2)
    c = ring.certificate
    assert (c.rows, c.columns, c.symmetric, c.balanced, c.static, c.directed) == (True, True, False, True, True, True)
    assert c.rho == pytest.approx(np.cos(np.pi / 4))  # |1 + e^{2πi/4}|/2
    assert c.diameter == 3
    assert build_mixing("directed_exponential", 8).edges[:3] == [(0, 1), (0, 2), (0, 4)]


def test_in_and_out_weights_are_both_built():
    star = nx.DiGraph([(0, 1), (0, 2), (1, 0), (2, 1)])
    matrices = weighed(Arcs.of_graph(star, "mine"), "out_degree")
    assert matrices.mix is None
    push = np.array([[1 / 3, 1 / 2, 0], [1 / 3, 1 / 2, 1 / 2], [1 / 3, 0, 1 / 2]])
    pull = np.array([[1 / 2, 1 / 2, 0], [1 / 3, 1 / 3, 1 / 3], [1 / 2, 0, 1 / 2]])
    assert matrices.push.dense() == pytest.approx(push)
    assert matrices.pull.dense() == pytest.approx(pull)
    other = weighed(Arcs.of_graph(star, "mine"), "in_degree")
    assert (other.push.dense(), other.pull.dense()) == (pytest.approx(push), pytest.approx(pull))
    c = Mixing([matrices], "mine").certificate
    assert (c.rows, c.columns, c.symmetric, c.balanced, c.edges) == (True, True, False, False, 4)
    assert c.rho == pytest.approx(np.sort(np.abs(np.linalg.eigvals(push)))[-2])
    lazy = build_mixing("random_digraph", 8, lazy=True).at(0)
    whole = build_mixing("random_digraph", 8).at(0)
    for one, half in zip(whole[1:], lazy[1:], strict=True):
        assert half.dense() == pytest.approx((np.eye(8) + one.dense()) / 2)


@st.composite
def digraphs(draw):
    """Strongly connected: a cycle through all nodes in some order, and any other arcs."""
    n = draw(st.integers(2, 9))
    order = draw(st.permutations(range(n)))
    graph = nx.empty_graph(n, create_using=nx.DiGraph)
    graph.add_edges_from(zip(order, [*order[1:], order[0]], strict=True))
    pairs = [(i, j) for i in range(n) for j in range(n) if i != j]
    graph.add_edges_from(draw(st.lists(st.sampled_from(pairs), max_size=2 * n)))
    return graph


@given(digraphs(), st.integers(0, 2**32 - 1))
@settings(max_examples=50, deadline=None)
def test_push_sum_converges_to_the_average_on_every_digraph(graph, seed):
    network = Mixing([weighed(Arcs.of_graph(graph, "mine"), "out_degree")], "mine")
    n, (_, push, pull) = network.nodes, (w and w.dense() for w in network.at(0))
    assert push.sum(axis=0) == pytest.approx(np.ones(n))
    assert pull.sum(axis=1) == pytest.approx(np.ones(n))
    values = np.random.default_rng(seed).normal(size=n)
    rounds = int(np.ceil(np.log(1e-12) / np.log(network.certificate.rho))) if network.certificate.rho > 1e-3 else 10
    mass, weight = values, np.ones(n)
    for _ in range(2 * rounds):
        mass, weight = push @ mass, push @ weight
    assert mass.sum() == pytest.approx(values.sum(), abs=1e-12)
    assert mass / weight == pytest.approx(np.full(n, values.mean()), abs=1e-8)


def test_rejects_methods_that_need_another_matrix():
    digraph, rows_only = build_mixing("random_digraph", 8), build_mixing("row_stochastic", 8)
    for method in ("sgp", "push_diging", "push_pull"):
        serves(method, digraph)
        serves(method, build_mixing("ring", 8))  # doubly stochastic
    serves("dsgd", build_mixing("directed_ring", 8))  # the average is kept
    for method, network, values in (
        ("dnasa", digraph, r"'random_digraph' .*row \d .*dnasa .*algo=sgp"),
        ("d2", build_mixing("directed_ring", 8), "d2 .*'directed_ring'"),
        ("sgp", rows_only, r"'row_stochastic' .*column \d .* sgp .*edges"),
        ("push_pull", Mixing(rows_only.matrices.transpose(0, 2, 1), "turned"), r"'turned' .*row \d .*push_pull "),
        ("choco", build_mixing("one_peer_exponential", 8), "choco .*'one_peer_exponential'"),
    ):
        with pytest.raises(UserError, match=values):
            serves(method, network)


def test_rejects_digraphs_that_are_not_strongly_connected():
    with pytest.raises(UserError, match=r"\[2\]"):
        Mixing([weighed(Arcs.of_graph(nx.DiGraph([(0, 1), (1, 0), (1, 2)]), "mine"), "out_degree")], "mine")
    two = nx.DiGraph([(0, 1), (1, 0), (2, 3), (3, 2)])
    with pytest.raises(UserError, match=r"\[\d, \d\]"):
        Mixing([weighed(Arcs.of_graph(two, "mine"), "out_degree")], "mine")
    with pytest.raises(UserError, match=r"'metropolis'.*out_degree"):
        build_mixing("directed_ring", 4, weights="metropolis")


def test_directed_edges_from_a_file(tmp_path):
    file = tmp_path / "arcs.txt"
    file.write_text("0 1  # from, to\n1 2\n2 0\n0 2\n")
    network = build_mixing("edges", 3, file=file, directed=True, weights="out_degree")
    assert network.edges == [(0, 1), (0, 2), (1, 2), (2, 0)]
    assert network.at(0).push.dense()[:, 0] == pytest.approx(
        [1 / 3, 1 / 3, 1 / 3]
    )  # node 0 sends to three, itself included
    with pytest.raises(UserError, match="'metropolis'"):
        build_mixing("edges", 3, file=file, directed=True)
    file.write_text("0 1\n1 0\n1 2\n")
    with pytest.raises(UserError, match=r"\[2\]"):
        build_mixing("edges", 3, file=file, directed=True, weights="out_degree")


@pytest.mark.parametrize("name", ["ring", "torus", "directed_ring"])
def test_thousands_of_nodes_are_certified_as_by_formula(name):
    n = 2048 if name != "torus" else 1600
    c = build_mixing(name, n).certificate
    turn = 2 * np.pi / n
    formula = {
        "ring": (1 + 2 * np.cos(turn)) / 3,
        "torus": (3 + 2 * np.cos(2 * np.pi / 40)) / 5,
        "directed_ring": np.cos(turn / 2),
    }
    assert c.rho == pytest.approx(formula[name], abs=1e-12)
    assert c.diameter == {"ring": n // 2, "torus": 40, "directed_ring": n - 1}[name]
    if name == "ring":
        assert (c.lambda_2, c.lambda_n) == (c.rho, pytest.approx(-1 / 3))
