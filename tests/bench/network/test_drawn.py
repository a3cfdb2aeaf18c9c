"""Networks that are drawn anew each round."""

import itertools

import numpy as np
import pytest

from bench.base.errors import UserError
from bench.base.registry import topologies
from bench.network.drawn import Drawn, _pair, build_network, random_each_round
from bench.network.graphs import topology


def drawn(name, nodes, seed=0, lazy=False, weights=None, **options):
    return Drawn(name, nodes, seed, weights, lazy, options)


@pytest.mark.parametrize("nodes", [2, 7, 8])
def test_a_matching_gives_every_node_one_partner(nodes):
    network = drawn("matching", nodes)
    partners = np.zeros((nodes, nodes))
    for r in range(300):
        w = network.at(r).mix.dense()
        assert np.array_equal(w, w.T)
        alone = np.flatnonzero(w.diagonal() == 1)
        assert len(alone) == nodes % 2
        assert np.array_equal(np.sort(w, axis=1)[:, -2:], np.where(w.diagonal()[:, None] == 1, [[0, 1]], [[0.5, 0.5]]))
        partners += w > 0
    seen = partners[~np.eye(nodes, dtype=bool)] / 300
    assert seen == pytest.approx(np.full(len(seen), 1 / (nodes - 1 + nodes % 2)), abs=0.12)  # 4 standard deviations
    assert network.bill(0) == (nodes // 2 * 2,) * 2


def test_rho_of_a_matching_is_exact():
    """Against the mean of WᵀW over all matchings of six nodes."""
    matchings = set()
    for order in itertools.permutations(range(6)):
        matchings.add(frozenset(frozenset(order[i : i + 2]) for i in (0, 2, 4)))
    assert len(matchings) == 15
    square = np.zeros((6, 6))
    for pairs in matchings:
        w = np.eye(6) / 2
        for i, j in map(tuple, pairs):
            w[i, j] = w[j, i] = 0.5
        square += w.T @ w / 15
    c = drawn("matching", 6).certificate
    assert c.rho**2 == pytest.approx(np.linalg.norm(square - 1 / 6, 2), abs=1e-12)
    assert c.rho**2 == pytest.approx((6 - 2) / (2 * (6 - 1)))
    assert "exactly" in c.rho_is
    assert (c.static, c.symmetric, c.rows, c.columns, c.period, c.lambda_n) == (False, True, True, True, None, 0.0)
    assert drawn("matching", 7).certificate.rho ** 2 == pytest.approx(1 / 2)


def test_edges_of_a_random_round_have_their_probability():
    places = np.arange(8 * 7 // 2)
    assert [(i, j) for i in range(8) for j in range(i)] == [tuple(pair) for pair in _pair(places).tolist()]
    large = 10**9 + np.arange(100)
    i, j = _pair(large).T
    assert np.array_equal(i * (i - 1) // 2 + j, large)
    assert (j < i).all()
    counts = np.zeros((8, 8))
    for seed in range(2000):
        i, j = random_each_round(8, np.random.default_rng(seed), p=0.3).T
        assert len(set(zip(i, j, strict=True))) == len(i)
        counts[i, j] += 1
    below = counts[np.tril_indices(8, -1)] / 2000
    assert below == pytest.approx(np.full(28, 0.3), abs=0.045)  # 4 standard deviations
    assert len(random_each_round(8, np.random.default_rng(0), p=1.0)) == 28


def test_rounds_are_drawn_by_seed_and_round():
    for name in ("matching", "random_each_round"):
        one, same, other = (drawn(name, 8, seed) for seed in (3, 3, 4))
        rounds = [one.at(r).mix.dense() for r in range(20)]
        backwards = [same.at(r).mix.dense() for r in reversed(range(20))][::-1]
        assert np.array_equal(rounds, backwards)  # whenever asked
        assert not np.array_equal(rounds, [other.at(r).mix.dense() for r in range(20)])
        assert len({w.tobytes() for w in rounds}) > 15
        assert one.certificate.rho == other.certificate.rho  # of the law, not of the draws
        assert one.certificate.hash != other.certificate.hash


@pytest.mark.thorough
def test_rho_by_many_draws_is_that_of_the_mean_of_squares():
    network = drawn("random_each_round", 6, p=0.4)
    squares = np.mean([w.T @ w for w in (network.at(r).mix.dense() for r in range(4000))], axis=0)
    assert network.certificate.rho**2 == pytest.approx(np.linalg.norm(squares - 1 / 6, 2), rel=0.06)
    assert "by 1000 draws" in network.certificate.rho_is
    assert network.certificate.lambda_n is None
    assert drawn("random_each_round", 6, lazy=True).certificate.lambda_n == 0


def test_a_custom_random_graph_that_depends_on_the_numbering(monkeypatch):
    """A drawn network of one's own: ρ by the mean of WᵀW; edges out of range are rejected."""
    monkeypatch.setattr(topologies, "_items", dict(topologies._items))

    @topology("half_path", drawn=True)
    def half_path(nodes, draws):
        return np.array([(i, i + 1) for i in range(draws.integers(2), nodes - 1, 2)])

    network = build_network("half_path", 4, {})
    even, odd = np.kron(np.eye(2), np.full((2, 2), 0.5)), np.eye(4)
    odd[1:3, 1:3] = 0.5
    expected = np.linalg.norm((even + odd) / 2 - 1 / 4, 2)  # both are projections
    assert network.certificate.rho**2 == pytest.approx(expected, rel=0.03)

    @topology("beyond", drawn=True)
    def beyond(nodes, draws):
        return np.array([(0, nodes)])

    with pytest.raises(UserError, match=r"topology=beyond.* 3.*\[0, 4\]"):
        build_network("beyond", 4, {})
