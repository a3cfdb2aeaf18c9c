import networkx as nx
import numpy as np
import pytest

from bench.certificate import Mixing, build_mixing
from bench.config import check_fit
from bench.registry import UserError, algorithms, topologies, weight_rules
from bench.weights import weigh


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
    path = nx.path_graph(3)
    assert weigh(path, "metropolis") == pytest.approx(np.array([[2, 1, 0], [1, 1, 1], [0, 1, 2]]) / 3)
    assert weigh(path, "laplacian") == pytest.approx(np.array([[2, 1, 0], [1, 1, 1], [0, 1, 2]]) / 3)
    assert build_mixing("complete", 5).matrices[0] == pytest.approx(np.full((5, 5), 0.2))


@pytest.mark.parametrize("rule", list(weight_rules))
@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("name", list(topologies))
@pytest.mark.parametrize("nodes", [2, 4, 8, 16])
def test_every_graph_with_every_rule_is_certified(name, rule, lazy, nodes):
    mixing = build_mixing(name, nodes, weights=rule, lazy=lazy)
    for w in mixing.matrices:
        assert w == pytest.approx(w.T)
        assert w.sum(axis=1) == pytest.approx(np.ones(nodes))
        assert w.min() >= 0
    assert 0 <= mixing.certificate.rho < 1


def test_one_node():
    assert build_mixing("ring", 1).certificate.rho == 0
    assert build_mixing("complete", 1).edges == []


@pytest.mark.parametrize(
    ("matrix", "sentence"),
    [
        (np.ones((2, 3)) / 3, r"must be square; it has shape \(2, 3\)"),
        (np.array([[0.5, 0.5], [0.4, 0.5]]), r"row 1 sums to 0.9, 0.1 away"),
        (np.array([[0.6, 0.4, 0], [0.2, 0.4, 0.4], [0.4, 0.0, 0.6]]), r"column \d sums to"),
        (np.array([[1.2, -0.2], [-0.2, 1.2]]), r"negative entry -0.2 at \(0, 1\)"),
        (
            np.array([[0.2, 0.5, 0.3], [0.3, 0.2, 0.5], [0.5, 0.3, 0.2]]),
            r"not symmetric: entries \(0, 1\) and \(1, 0\)",
        ),
        (np.eye(3), r"not connected: nodes \[0\] cannot reach"),
        (np.array([[0.0, 1.0], [1.0, 0.0]]), r"ρ = 1.0.*lazy"),
        (np.array([[np.nan, 1.0], [1.0, 0.0]]), r"nan at row 0"),
    ],
)
def test_a_wrong_matrix_is_refused_with_the_reason(matrix, sentence):
    with pytest.raises(UserError, match=sentence):
        Mixing(matrix[None], "mine")


def test_the_published_random_matrix_of_the_authors_kind_is_refused():
    """1/(d_i + 1) on every row: rows sum to one, columns do not."""
    a = nx.to_numpy_array(topologies["random"].graph(8)) + np.eye(8)
    with pytest.raises(UserError, match="not doubly stochastic: column"):
        Mixing((a / a.sum(axis=1, keepdims=True))[None], "released")


def test_d2_refuses_the_ring_of_the_paper_and_takes_its_lazy_form():
    with pytest.raises(UserError, match=r"above -0.3333; 'ring' with 8 nodes has -0.3333. Use topology.lazy=true"):
        check_fit(algorithms["d2"], build_mixing("ring", 8))
    check_fit(algorithms["d2"], build_mixing("ring", 8, lazy=True))
    check_fit(algorithms["d2"], build_mixing("ring", 7))  # λ_n = −0.27
    check_fit(algorithms["dnasa"], build_mixing("ring", 8))


def test_messages_are_counted_on_directed_edges():
    assert build_mixing("ring", 8).directed_edges(10) == 160
    assert build_mixing("complete", 8).directed_edges(1) == 56
