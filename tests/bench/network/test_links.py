"""Lossy links: the average under each semantics, ρ, and the methods that they reject."""

import itertools

import numpy as np
import pytest

from bench.base.errors import UserError
from bench.base.registry import algorithms
from bench.network.drawn import build_network
from bench.network.failures import NodeOutages
from bench.network.links import Lossy, OneWay, Outages
from bench.network.mixing import build_mixing
from tests.helpers.few import few


def over(name="ring", nodes=8, seed=0, kind=Lossy, **options):
    return kind(**options).over(build_network(name, nodes, {}, seed), seed)


def drift(network, rounds=300):
    """How far the average of something moves, relative to its size."""
    x = np.random.default_rng(0).normal(size=(network.nodes, 3)) + 1
    mean = x.mean(axis=0)
    for t in range(rounds):
        x = network.at(t, t).mix.dense() @ x
    return np.abs(x.mean(axis=0) - mean).max() / np.abs(mean).max()


NAMES = ("ring", "star", "random", "one_peer_exponential", "matching", "random_each_round")
PAIRS = [(name, kind) for name in NAMES for kind in (Lossy, Outages)]


@pytest.mark.parametrize(("name", "kind"), few(PAIRS, [("ring", Lossy), ("matching", Outages)]))
def test_reabsorbing_preserves_the_average(name, kind):
    network = over(name, kind=kind, p=0.3 if kind is Lossy else 0.1)
    assert drift(network) < 1e-12
    whole = [build_network(name, 8, {}, 0).at(t).mix.dense() for t in range(200)]
    lost = 0
    for t, w in enumerate(whole):
        now = network.at(t, t).mix.dense()
        assert np.abs(now - now.T).max() < 1e-15
        assert now.sum(axis=1) == pytest.approx(np.ones(8), abs=1e-14)
        assert np.linalg.eigvalsh(now)[0] >= np.linalg.eigvalsh(w)[0] - 1e-12  # re-absorbing only raises λ_n
        off = ~np.eye(8, dtype=bool)
        assert ((now == w) | (now == 0))[off].all()
        lost += ((now != w) & off).sum() / ((w > 0) & off).sum()
    up = NodeOutages(0.1, 5.0, 8, 0).up
    expected = 0.3 if kind is Lossy else 1 - up**2
    assert lost / len(whole) == pytest.approx(expected, abs=0.06)


def test_the_negative_examples_do_not_preserve_the_average():
    assert drift(over(p=0.3)) < 1e-12
    assert drift(over(p=0.3, semantics="renormalise")) > 1e-2
    assert drift(over(p=0.3, semantics="zero_fill")) > 0.99  # everything is lost in the end
    one = over("path", 3, p=0.5, semantics="renormalise")
    w = build_mixing("path", 3).matrices[0]
    for t in range(20):
        now, kept = one.at(t, t).mix.dense(), over("path", 3, p=0.5, semantics="zero_fill").at(t, t).mix.dense()
        assert now.sum(axis=1) == pytest.approx(np.ones(3))
        assert now == pytest.approx(kept / kept.sum(axis=1, keepdims=True))
        assert ((kept == w) | (kept == 0)).all()
        assert (kept > 0).tolist() == (kept > 0).T.tolist()  # at both ends
    c = one.certificate
    assert (c.rho, c.biased, c.symmetric, c.columns, c.rows) == (None, True, False, False, True)


def test_a_link_is_down_for_a_whole_step_and_for_every_round_of_it():
    network = over("complete", p=0.5)
    assert np.array_equal(network.at(6, 3).mix.dense(), network.at(7, 3).mix.dense())
    assert not np.array_equal(network.at(6, 3).mix.dense(), network.at(7, 4).mix.dense())
    again, other = over("complete", p=0.5), over("complete", p=0.5, seed=1)
    assert np.array_equal(network.at(0, 40).mix.dense(), again.at(0, 40).mix.dense())
    assert not np.array_equal(network.at(0, 40).mix.dense(), other.at(0, 40).mix.dense())


@pytest.mark.parametrize("name", ["path", "star", "complete", "ring"])
def test_rho_under_loss_is_exact(name):
    """Against the mean of W² over all outcomes of four nodes."""
    w = build_mixing(name, 4).matrices[0]
    links = [(i, j) for i in range(4) for j in range(i) if w[i, j]]
    p, square = 0.3, np.zeros((4, 4))
    for dead in itertools.product((False, True), repeat=len(links)):
        chance = np.prod([p if one else 1 - p for one in dead])
        square += chance * np.linalg.matrix_power(without(w, [e for e, one in zip(links, dead, strict=True) if one]), 2)
    assert over(name, 4, p=p).certificate.rho ** 2 == pytest.approx(np.linalg.norm(square - 1 / 4, 2), abs=1e-12)

    network = over(name, 4, kind=Outages, p=0.1, length=3.0)
    up, square = (1 / 3) / (0.1 + 1 / 3), np.zeros((4, 4))
    for silent in itertools.product((False, True), repeat=4):
        chance = np.prod([1 - up if one else up for one in silent])
        square += chance * np.linalg.matrix_power(without(w, [(i, j) for i, j in links if silent[i] or silent[j]]), 2)
    assert network.certificate.rho**2 == pytest.approx(np.linalg.norm(square - 1 / 4, 2), abs=1e-12)


def without(w, dead):
    now = w.copy()
    for i, j in dead:
        now[i, i], now[j, j] = now[i, i] + w[i, j], now[j, j] + w[i, j]
        now[i, j] = now[j, i] = 0
    return now


def test_a_node_is_silent_for_a_geometric_number_of_steps():
    silence = NodeOutages(0.05, 4.0, 200, seed=1)
    down = np.array([silence.silent(t) for t in range(2000)])
    assert 1 - down.mean() == pytest.approx(silence.up, abs=0.01)
    assert 1 - down[0].mean() == pytest.approx(silence.up, abs=0.12)  # from the first step on
    lengths = np.concatenate([_runs(column) for column in down.T])
    assert lengths.mean() == pytest.approx(4.0, rel=0.05)
    assert np.mean(lengths == 1) == pytest.approx(1 / 4, abs=0.02)  # geometric
    again = NodeOutages(0.05, 4.0, 200, seed=1)
    assert np.array_equal(again.silent(1999), down[1999])  # in any order


def _runs(down):
    """Lengths of the outages that begin and end within."""
    edges = np.flatnonzero(np.diff(down.astype(int)))
    starts = edges if not down[0] else edges[1:]
    return np.diff(starts)[::2]


def test_lost_messages_are_charged():
    assert over(p=0.5).bill(3, 3) == (16, 16)
    network = over(kind=Outages, p=0.3)
    for t in range(20):
        speak = 8 - network._silence.silent(t).sum()
        assert network.bill(t, t) == (2 * speak, 2 * speak)  # a failed node sends nothing; messages to it are lost


@pytest.mark.parametrize("p", [-0.1, 1.0, 1.5])
@pytest.mark.parametrize("kind", [Lossy, Outages, OneWay])
def test_rejects_invalid_probabilities(kind, p):
    with pytest.raises(UserError, match=rf"links.p .*{p:g}"):
        over(kind=kind, p=p)


def test_methods_that_accept_and_reject_lossy_links():
    lossy = over("directed_ring", p=0.1)
    for method, network, values in (
        ("dsgd", lossy, "dsgd .*'directed_ring'"),
        ("choco", over(p=0.1), "choco .*'ring'"),
        ("dsgd", over(kind=OneWay, p=0.1), "links=one_way .*dsgd"),
        ("push_pull", over("random_digraph", kind=OneWay, p=0.1), "links=one_way .*push_pull"),
        ("sgp", over("random_digraph", p=0.1, semantics="renormalise"), "semantics=renormalise .*sgp"),
        ("d2", over(p=0.1), r"-0.3333.*'ring'.* 8 .*-0.3333"),
    ):
        with pytest.raises(UserError, match=values):
            network.must_serve(algorithms[method].declare_for({}))
    for method, network in (
        ("d2", over("star", p=0.1)),
        ("d2", over("matching", p=0.1)),
        ("dnasa", over(p=0.1)),
        ("sgp", over("random_digraph", p=0.1)),
        ("sgp", over("random_digraph", kind=OneWay, p=0.1)),
        ("push_pull", over("random_digraph", p=0.1)),
    ):
        network.must_serve(algorithms[method].declare_for({}))
    with pytest.raises(UserError, match="topology=all_reduce"):
        over("all_reduce")


def test_lost_pushes_stay_with_the_sender_and_lost_pulls_with_the_receiver():
    network = over("random_digraph", p=0.4)
    for t in range(50):
        _, push, pull = (w and w.dense() for w in network.at(t, t))
        assert push.sum(axis=0) == pytest.approx(np.ones(8), abs=1e-14)
        assert pull.sum(axis=1) == pytest.approx(np.ones(8), abs=1e-14)
        assert np.array_equal(push > 0, pull > 0)
