"""Patterns of events: slow nodes, compute times, exchanges, invalid inputs, and published times."""

import time
from dataclasses import replace
from itertools import product

import networkx as nx
import numpy as np
import pytest

from bench.base.errors import UserError
from bench.clock import Compute, StaticGraph, costs_of_method, uniform
from bench.clock.recursion import node_times
from bench.events import Kind, draw_tape
from tests.bench.events.test_tape import PATTERNS, case

NEVER = Compute(1e-6, slow_node=2, slow_factor=1e300)


def gradients(tape):
    """Return the number of gradients of each node."""
    return np.bincount(tape.node[tape.kind == Kind.GRADIENT], minlength=tape.nodes)


def lasted(tape):
    """Return the compute times of each node."""
    rows = [np.flatnonzero((tape.kind == Kind.GRADIENT) & (tape.node == i)) for i in range(tape.nodes)]
    return [(tape.computed - tape.begins)[each] for each in rows]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_slow_node_makes_fewer_gradients(pattern):
    made = gradients(case(compute="slow", links="quick", steps=90).tape(pattern))
    assert made[1] in (29, 30)
    if pattern == "one_late":  # node 3 is two edges away from node 1: it is ahead by at most two gradients
        assert max(made) <= made[1] + 3
    else:
        assert min(np.delete(made, 1)) >= 80


@pytest.mark.parametrize("compute", [NEVER, replace(NEVER, lognormal_sigma=0.1)])
def test_a_node_that_never_answers(compute):
    equal = case(compute=replace(compute, slow_factor=1.0), links="usual", steps=50)
    at = replace(equal, compute=compute)
    for pattern in ("messages", "meetings"):
        made = gradients(at.tape(pattern))
        assert made[2] == 0
        assert (np.delete(made, 2) == np.delete(gradients(equal.tape(pattern)), 2)).all()
    assert gradients(at.tape("one_late")).tolist() == [2, 1, 0, 1, 2, 3]
    made = gradients(at.tape("pairs"))  # node 2 is active: it asks nobody
    assert made[2] == 0
    assert min(np.delete(made, 2)) >= 35
    assert at.tape("messages").summary(50)["idle_s_max"] == 0


def test_the_longest_tape_does_not_overflow():
    long = Compute(1e9, slow_node=0, slow_factor=1e280, lognormal_sigma=0.5)
    far = dict.fromkeys(case().arcs, (2**63 - 1, 2**63 - 1))
    for pattern, arcs in product(PATTERNS, (far, case().arcs)):
        tape = case(compute=long).tape(pattern, steps=2, arcs=arcs)
        assert (tape.time >= tape.computed).all()
        assert (tape.computed > tape.begins - (tape.kind != Kind.GRADIENT)).all()
        assert (tape.begins >= 0).all()
        assert gradients(tape)[0] == 0
        assert gradients(tape).max() > 0 or arcs is far
    with pytest.raises(UserError, match="10"):
        case(compute=long).tape("messages", steps=10)


def test_compute_times_are_the_same_in_all_patterns_and_on_the_synchronous_clock():
    at = case("grid", "all", steps=60)
    compared = [lasted(at.tape(pattern)) for pattern in PATTERNS]
    free = uniform(0, 1000, compute=at.compute)
    alone = costs_of_method(StaticGraph(6, [], kind="alone"), range(90), parameters=0, seed=at.seed)
    synchronous = np.diff(np.array(list(node_times(alone, free))), axis=0)
    for times in compared:
        for i, each in enumerate(times):
            assert len(each) > 5
            assert (each == synchronous[: len(each), i]).all()


def test_equal_nodes_with_short_delays_receive_every_message_in_the_next_gradient():
    tape = case(links="usual").tape("messages")
    delivered = tape.kind == Kind.DELIVER
    assert (tape.time[delivered] // tape.unit == tape.number[delivered] + 1).all()
    assert tape.summary(40)["staleness_max"] == 2


def test_one_late_without_delays_is_as_fast_as_computing():
    tape = case(links="quick").tape("one_late")
    assert gradients(tape).tolist() == [40] * 6
    assert tape.summary(40)["idle_s_max"] == 0


def test_active_nodes_are_those_on_the_side_of_node_0_and_use_all_neighbors_equally():
    tape = case("star5", steps=2000, links="quick").tape("pairs")
    pair = tape.kind == Kind.PAIR
    assert set(tape.node[pair]) == {0}
    assert np.bincount(tape.peer[pair])[1:] / 2000 == pytest.approx(0.25, abs=0.04)


@pytest.mark.parametrize("pattern", ["pairs", "meetings"])
def test_exchanges_of_a_node_do_not_overlap(pattern):
    tape = case("grid", "jitter", "usual", steps=200, options={"rate": 3.0}).tape(pattern)
    pair = tape.kind == Kind.PAIR
    for i in range(6):
        own = pair & ((tape.node == i) | (tape.peer == i))
        assert (tape.begins[own][1:] >= tape.time[own][:-1]).all()


def test_meetings_have_the_rate_of_the_option():
    for graph, rate in (("ring6", 0.5), ("ring6", 2.0), ("star5", 1.0)):
        at = case(graph, links="quick", steps=4000, options={"rate": rate})
        tape = at.tape("meetings")
        pair = tape.kind == Kind.PAIR
        taken = np.bincount(tape.node[pair], minlength=at.nodes) + np.bincount(tape.peer[pair], minlength=at.nodes)
        assert taken.mean() / 4000 == pytest.approx(rate, rel=0.05)
        if graph == "ring6":
            assert taken / 4000 == pytest.approx(rate, rel=0.1)


@pytest.mark.parametrize("graph", [nx.cycle_graph(5), nx.complete_graph(4), nx.Graph([(0, 1), (2, 3), (3, 4), (4, 2)])])
def test_pairs_need_a_bipartite_graph(graph):
    with pytest.raises(UserError, match=str(min(map(len, nx.cycle_basis(graph))))):
        case(graph).tape("pairs")
    assert len(case(graph).tape("meetings"))


def test_pairs_and_meetings_need_an_undirected_graph():
    at = case("ring6")
    del at.arcs[3, 2]
    for pattern in ("pairs", "meetings"):
        with pytest.raises(UserError, match=r"2.*3"):
            at.tape(pattern)


@pytest.mark.parametrize(
    ("pattern", "options", "offending"),
    [
        ("messages", {"lost": 1.5}, "1.5"),
        ("messages", {"lost": -0.1}, "-0.1"),
        ("pairs", {"lost": 0.25}, "0.25"),
        ("one_late", {"lost": 0.25}, "0.25"),
        ("meetings", {"rate": 0.0}, "0.0"),
        ("meetings", {"rate": float("nan")}, "nan"),
    ],
)
def test_rejects_invalid_options(pattern, options, offending):
    with pytest.raises(UserError, match=offending):
        case(options=options).tape(pattern)


@pytest.mark.parametrize("compute", [Compute(None), Compute(0.0), Compute(1e-10)])
def test_rejects_networks_without_a_time_per_gradient(compute):
    with pytest.raises(UserError, match="gradient_ms"):
        draw_tape("messages", np.array([0]), np.array([1]), np.array([1]), compute, 0, 2, 10)


@pytest.mark.parametrize("arcs", [([0, 1], [1]), ([0, 1], [1, 1]), ([0, 0], [1, 1])])
def test_rejects_arcs_that_are_not_a_graph(arcs):
    with pytest.raises(ValueError, match=r"arc|Arcs"):
        draw_tape("messages", *map(np.array, arcs), np.ones(len(arcs[0])), Compute(1e-6), 0, 2, 10)


EPOCH = 97.66
"""Steps of an epoch of Bornstein et al. (ICLR 2023), CIFAR-10 on 16 nodes with batch size 32."""


@pytest.mark.parametrize(
    ("slow", "dsgd", "swift", "others"), [(1, 3.11, 2.71, 2.69), (2, 3.97, 3.15, 2.41), (4, 6.14, 5.73, 2.88)]
)
def test_published_seconds_per_epoch(slow, dsgd, swift, others):
    """SWIFT's logs: 9.07 ms a gradient, 17.0 ms other work; a round of D-SGD takes 5.8 ms, a send of SWIFT 0.9 ms."""
    ring = [(i, (i + 1) % 16) for i in range(16)]
    gradient = Compute(9.07e-3, slow_node=0, slow_factor=slow)
    at_once = {arc: (1, 0) for i, j in ring for arc in ((i, j), (j, i))}
    synchronous = uniform(0, 1e6, compute=replace(gradient, other_s=17.0e-3 + 5.8e-3))
    (time,) = node_times(costs_of_method(StaticGraph(16, ring), [400], parameters=0), synchronous)
    assert time.max() / 400 / 1e9 * EPOCH == pytest.approx(dsgd, rel=0.065)
    compute = replace(gradient, other_s=17.0e-3 + 0.9e-3)
    tape = replace(case(), nodes=16, arcs=at_once, compute=compute, steps=400).tape("messages")
    seconds = 400 * tape.unit / 1e9 / gradients(tape) * EPOCH
    assert seconds[0] == pytest.approx(swift, rel=0.16)
    assert seconds[1:] == pytest.approx(others, rel=0.16)
    assert seconds[0] == pytest.approx(EPOCH * (9.07e-3 * slow + 17.9e-3), rel=0.01)


@pytest.mark.thorough
@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_million_events_take_less_than_five_seconds_of_cpu(pattern):
    at = case(compute="jitter", links="usual", steps=90_000)
    began = time.process_time()
    tape = at.tape(pattern)
    assert (time.process_time() - began) * 1e6 / len(tape) < 5
    assert len(tape) > 500_000
