from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.base.errors import UserError
from bench.base.registry import algorithms, topologies, weight_rules
from bench.method import algorithm
from bench.network import cache, spectrum
from bench.network.mixing import Mixing, build_mixing
from bench.network.sparse import Arcs
from bench.network.weights import weigh
from bench.sweep.preflight import check_network
from tests.helpers.configs import config


def served(method, mixing):
    mixing.must_serve(method.declare_for({}))


@pytest.mark.parametrize(
    ("name", "rho", "edges"), [("ring", 0.805, 8), ("random", 0.375, 24), ("ladder", 0.892, 10), ("complete", 0.0, 28)]
)
def test_the_four_graphs_of_the_paper(name, rho, edges):
    certificate = build_mixing(name, 8).certificate
    assert certificate.rho == pytest.approx(rho, abs=5e-4)
    assert certificate.edges == edges


def test_the_random_graph_is_the_published_instance_unless_asked_otherwise():
    missing = set(nx.complete_graph(8).edges) - set(build_mixing("random", 8).edges)
    assert missing == {(1, 6), (2, 3), (2, 4), (5, 7)}
    assert build_mixing("random", 8, seed=1).edges != build_mixing("random", 8).edges
    assert build_mixing("random", 20, p=0.3, seed=1).edges == build_mixing("random", 20, p=0.3, seed=1).edges
    assert build_mixing("random", 20, p=0.3, seed=1).edges != build_mixing("random", 20, p=0.3, seed=2).edges


def test_weights_of_the_paper_by_hand():
    ring = build_mixing("ring", 8).matrices[0]
    assert ring[0] == pytest.approx(np.array([1, 1, 0, 0, 0, 0, 0, 1]) / 3)
    random = build_mixing("random", 8).matrices[0]
    assert random[0, 1] == 1 / 8
    assert random[1, 6] == 0
    assert random[2, 2] == pytest.approx(3 / 8)
    path = Arcs.of_graph(nx.path_graph(3), "path")
    assert weigh(path, "metropolis").dense() == pytest.approx(np.array([[2, 1, 0], [1, 1, 1], [0, 1, 2]]) / 3)
    assert weigh(path, "laplacian").dense() == pytest.approx(np.array([[2, 1, 0], [1, 1, 1], [0, 1, 2]]) / 3)
    assert build_mixing("complete", 5).matrices[0] == pytest.approx(np.full((5, 5), 0.2))


GOSSIP = {name: topologies[name] for name in topologies if topologies[name].kind == "gossip"}
GRAPHS = [
    name
    for name, one in GOSSIP.items()
    if one.weights not in (None, "out_degree") and name != "edges" and not one.drawn
]
RULES = [name for name in weight_rules if weight_rules[name].keeps == "both"]


@given(st.sampled_from(GRAPHS), st.sampled_from(RULES), st.booleans(), st.integers(1, 40))
@settings(max_examples=80, deadline=None)
def test_every_graph_with_every_rule_is_certified_or_rejected(name, rule, lazy, nodes):
    prime = all(nodes % k for k in range(2, nodes))
    impossible = {
        "ladder": nodes % 2 == 1,
        "hypercube": nodes & (nodes - 1) != 0,
        "one_peer_exponential": nodes & (nodes - 1) != 0,
        "grid": prime and nodes > 3,
        "torus": prime and nodes > 3,
    }
    if impossible.get(name):
        with pytest.raises(UserError, match=str(nodes)):
            build_mixing(name, nodes, weights=rule, lazy=lazy)
        return
    mixing = build_mixing(name, nodes, weights=rule, lazy=lazy)
    n, c = nodes, mixing.certificate
    for w in mixing.matrices:
        assert w == pytest.approx(w.T, abs=1e-12)
        assert w.sum(axis=1) == pytest.approx(np.ones(n))
        assert w.min() >= 0
    product = np.linalg.multi_dot([*mixing.matrices[::-1], np.eye(n)])
    assert c.rho == pytest.approx(np.linalg.norm(product - 1 / n, 2), abs=1e-9)
    assert 0 <= c.rho < 1
    graph = nx.Graph(mixing.edges)
    assert n == 1 or (nx.is_connected(graph) and len(graph) == n)
    if lazy and c.lambda_n is not None:
        assert c.lambda_n >= -1e-12


@pytest.mark.parametrize(
    ("name", "nodes", "edges"),
    [
        ("path", 7, 6),
        ("star", 7, 6),
        ("grid", 12, 17),
        ("torus", 12, 24),
        ("hypercube", 16, 32),
        ("exponential", 8, 20),
        ("exponential", 7, 21),
        ("one_peer_exponential", 8, 12),
    ],
)
def test_edges_of_the_graphs(name, nodes, edges):
    assert len(build_mixing(name, nodes).edges) == edges


def test_certificates_by_hand():
    ring = build_mixing("ring", 8).certificate
    assert (ring.diameter, build_mixing("ladder", 8).certificate.diameter) == (4, 4)
    assert (ring.lambda_2, ring.lambda_n) == pytest.approx(((1 + 2**0.5) / 3, -1 / 3))
    cycle = np.array([[2, 9, 0, 9], [9, 2, 9, 0], [0, 9, 2, 9], [9, 0, 9, 2]]) / 20
    assert Mixing(cycle[None], "cycle").certificate.rho == pytest.approx(0.8)  # λ₄ = −0.8 beats λ₂ = 0.1


def test_sequences_are_certified_by_the_product_of_a_period():
    for m in range(1, 6):
        c = build_mixing("one_peer_exponential", 2**m).certificate
        assert (c.period, c.rho) == (m, pytest.approx(0, abs=1e-12))
    halves = build_mixing("one_peer_exponential", 4).matrices
    slow = Mixing(np.stack([(np.eye(4) + w) / 2 for w in halves]), "slow")
    product = slow.matrices[1] @ slow.matrices[0]
    assert slow.certificate.rho == pytest.approx(np.linalg.norm(product - 0.25, 2))
    assert slow.certificate.rho == pytest.approx(0.5)
    assert slow.certificate.lambda_n == pytest.approx(0.5)  # of every round: (1 + 0)/2
    served(algorithms["d2"], slow)
    swapping = Mixing(np.stack([2 * w - np.eye(4) for w in halves[:1]] + [np.full((4, 4), 0.25)]), "swapping")
    assert swapping.certificate.lambda_n == pytest.approx(-1)
    with pytest.raises(UserError, match=r"-0.3333.*'swapping'.* 4 .*-1"):
        served(algorithms["d2"], swapping)
    with pytest.raises(UserError, match=r"'half'.*\[0, 1\]"):
        Mixing(halves[:1], "half")


@pytest.mark.parametrize("whole", [spectrum.WHOLE, 0])
def test_rho_of_a_sequence_is_the_norm_of_its_product_not_its_eigenvalue(whole, monkeypatch):
    """Nodes 0 and 1 average, then 1 and 2: projections onto lines at 60°. The norm is ½, the eigenvalue its square."""
    monkeypatch.setattr(spectrum, "WHOLE", whole)  # all at once, or as large matrices are
    monkeypatch.setattr(cache, "_known", {})
    first = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 2]]) / 2
    turns = Mixing(np.stack([first, first[::-1, ::-1]]), "turns")
    product = turns.matrices[1] @ turns.matrices[0]
    assert sorted(np.abs(np.linalg.eigvals(product - 1 / 3))) == pytest.approx([0, 0, 1 / 4], abs=1e-7)
    assert turns.certificate.rho == pytest.approx(1 / 2)
    apart = np.array([1, 1, -2]) / 6**0.5  # what the first round leaves as it is
    assert np.linalg.norm(product @ apart) == pytest.approx(1 / 2)  # no smaller ρ would be a bound


def test_one_node():
    assert build_mixing("ring", 1).certificate.rho == 0
    assert build_mixing("complete", 1).edges == []


@pytest.mark.parametrize(
    ("matrix", "values"),
    [
        (np.ones((2, 3)) / 3, r"\(2, 3\)"),
        (np.array([[0.5, 0.5], [0.4, 0.5]]), r"row 1 .*0.9 "),
        (np.array([[0.6, 0.4, 0], [0.2, 0.4, 0.4], [0.4, 0.0, 0.6]]), r"column 0 .*1.2, .*dsgd"),
        (np.array([[0.6, 0.2, 0.4], [0.4, 0.4, 0.0], [0.0, 0.4, 0.6]]), r"row 0 .*1.2, .*dsgd"),
        (np.array([[1.2, -0.2], [-0.2, 1.2]]), r"-0.2 .*row 0, column 1"),
        (np.eye(3), r"\[0\]"),
        (np.array([[0.0, 1.0], [1.0, 0.0]]), r"1.0.*topology.lazy=true"),
        (np.array([[np.nan, 1.0], [1.0, 0.0]]), r"nan .*row 0, column 0"),
    ],
)
def test_rejects_an_invalid_matrix(matrix, values):
    with pytest.raises(UserError, match=f"'mine'.*{values}"):
        served(algorithms["dsgd"], Mixing(matrix[None], "mine"))


def test_rejects_the_row_stochastic_matrix_of_the_published_code():
    """1/(d_i + 1) on every row: rows sum to one, columns do not."""
    with pytest.raises(UserError, match=r"column .*allow_biased"):
        served(algorithms["dnasa"], build_mixing("row_stochastic", 8))


def test_allow_biased_accepts_a_row_stochastic_matrix():
    mixing = build_mixing("row_stochastic", 8, allow_biased=True)
    w = mixing.matrices[0]
    assert w.sum(axis=1) == pytest.approx(np.ones(8))
    assert np.abs(w.sum(axis=0) - 1).max() > 0.1
    assert mixing.edges == build_mixing("random", 8).edges
    assert w[2, 2] == pytest.approx(1 / 6)  # node 2 has five neighbors
    agreed = np.linalg.matrix_power(w, 200)
    assert agreed == pytest.approx(np.tile(agreed[0], (8, 1)))  # they agree, but not on the average
    assert np.abs(agreed[0] - 1 / 8).max() > 0.01
    drift = [np.linalg.norm(np.linalg.matrix_power(w, k) - agreed) for k in (10, 11)]
    assert drift[1] / drift[0] == pytest.approx(mixing.certificate.rho, rel=1e-2)
    assert mixing.certificate.biased
    assert not build_mixing("random", 8).certificate.biased
    turning = np.array([[0.1, 0.89, 0.01], [0.01, 0.1, 0.89], [0.89, 0.01, 0.1]])  # doubly stochastic, not symmetric
    certificate = Mixing(turning[None], "mine").certificate
    assert not certificate.biased
    assert not certificate.symmetric
    assert certificate.rho == pytest.approx(np.linalg.norm(turning - 1 / 3, 2))
    served(algorithms["dsgd"], Mixing(turning[None], "mine"))  # the average is kept
    with pytest.raises(UserError, match=r"d2 .*'mine'"):
        served(algorithms["d2"], Mixing(turning[None], "mine"))
    with pytest.raises(UserError, match=r"row 1 .*0\.9"):
        Mixing(np.array([[[0.5, 0.5], [0.4, 0.5]]]), "mine", allow_biased=True)
    with pytest.raises(UserError, match=r"'mine'.*node 1 .*node 0.*allow_biased"):
        Mixing(np.array([[[0.5, 0.5], [0.0, 1.0]]]), "mine", allow_biased=True)
    with pytest.raises(UserError, match=r"d2 .*'row_stochastic'"):
        served(algorithms["d2"], mixing)


def test_d2_rejects_the_ring_of_the_paper_and_accepts_its_lazy_form():
    with pytest.raises(UserError, match=r"-0.3333.*'ring'.* 8 .*-0.3333.*topology.lazy=true"):
        served(algorithms["d2"], build_mixing("ring", 8))
    served(algorithms["d2"], build_mixing("ring", 8, lazy=True))
    served(algorithms["d2"], build_mixing("ring", 7))  # λ_n = −0.27
    served(algorithms["dnasa"], build_mixing("ring", 8))


def test_the_properties_of_the_run_count_not_those_of_the_class(monkeypatch):
    monkeypatch.setattr(algorithms, "_items", dict(algorithms._items))

    @algorithm("choosy", vectors_per_step=1, cite="nobody")
    class Choosy(algorithms["dsgd"]):
        strict: bool = False

        @classmethod
        def declare(cls, *, strict, **others):
            return replace(cls.properties, lambda_min=-1 / 3 if strict else None)

    check_network(config(algo="choosy", nodes=8))
    with pytest.raises(UserError, match=r"choosy .*-0\.3333"):
        check_network(config(algo={"name": "choosy", "strict": True}, nodes=8))


def test_messages_are_counted_on_directed_edges():
    assert build_mixing("ring", 8).bill(0) == (16, 16)
    assert build_mixing("complete", 8).bill(3) == (56, 56)
    assert [build_mixing("path", n).bill(0) for n in (1, 2)] == [(0, 0), (2, 2)]


def test_costs_of_the_reference_topologies():
    every = build_mixing("all_reduce", 8)
    assert np.array_equal(every.matrices[0], np.full((8, 8), 1 / 8))
    assert every.bill(0) == (2 * 8 * 7, 2 * 7)  # each node sends 2(n−1) pieces of a vector's n-th part
    assert every.certificate.rho == pytest.approx(0, abs=1e-15)
    alone = build_mixing("alone", 8)
    assert np.array_equal(alone.matrices[0], np.eye(8))
    assert alone.bill(0) == (0, 0)
    assert (alone.certificate.rho, alone.certificate.diameter) == (1, None)
    assert build_mixing("all_reduce", 1).bill(0) == (0, 0)


def test_the_smallest_eigenvalue_of_a_large_matching_is_zero():
    """Its eigenvalues are 0 and 1 alone, on which a plain Lanczos iteration breaks down."""
    assert build_mixing("one_peer_exponential", 2048).certificate.lambda_n == pytest.approx(0.0, abs=1e-12)
