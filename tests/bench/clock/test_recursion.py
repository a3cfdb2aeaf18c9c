"""The clock against formulas, a literal loop, published times, and the properties of the recursion."""

import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.base.errors import UserError
from bench.base.registry import links
from bench.clock import Compute, StaticGraph, costs_of_method, load_network, seconds, uniform
from bench.clock.recursion import Regime
from bench.network.drawn import build_network
from tests.bench.clock.literal import literal_times, times

GRAPHS = {
    "ring": {},
    "star": {},
    "directed_ring": {},
    "directed_exponential": {},
    "random_digraph": {"p": 0.4},
    "one_peer_exponential": {},
    "matching": {},
    "random_each_round": {"p": 0.4},
}
LOSSES = {"reliable": {}, "lossy": {"p": 0.3}, "outages": {"p": 0.1}, "one_way": {"p": 0.3}}
RING8 = [(i, (i + 1) % 8) for i in range(8)]
COMPLETE8 = [(i, j) for i in range(8) for j in range(i)]


def ring(n):
    return StaticGraph(n, [(i, (i + 1) % n) for i in range(n)])


def uneven(n, seed=0, **attributes):
    """A network with a site per node and different links in both directions."""
    draws = np.random.default_rng(seed)
    network = uniform(1, 1, sites=tuple(map(str, range(n))), **attributes)
    return replace(network, latency_s=draws.uniform(0, 0.1, (n, n)), bandwidth=draws.uniform(1e5, 1e7, (n, n)))


def test_equal_links_and_compute_give_the_formula_exactly():
    network = uniform(latency_ms=20, bandwidth_mbps=10, uplink="separate", compute=Compute(0.003))
    costs = costs_of_method(ring(6), [0, 1, 5], parameters=1000, vectors=3)
    step = 3_000_000 + 20_000_000 + 3 * 1000 * 32 * 100
    assert times(costs, network).tolist() == [[0] * 6, [step] * 6, [5 * step] * 6]
    shared = replace(network, uplink="shared")
    assert (times(costs, shared)[1] == step + 3 * 1000 * 32 * 100).all()


def test_other_work_is_the_same_on_a_slow_node():
    network = uniform(0, 1, compute=Compute(0.003, slow_node=1, slow_factor=4, other_s=0.005))
    costs = costs_of_method(StaticGraph(3, [], kind="alone"), [1, 10], parameters=0)
    assert times(costs, network).tolist() == [[8e6, 17e6, 8e6], [80e6, 170e6, 80e6]]
    assert times(costs, network).tolist()[1] == literal_times(costs, network, 10, [])[-1]


def test_a_straggler_delays_one_more_hop_every_round():
    network = uniform(1, 1000, compute=Compute(0.001, slow_node=0, slow_factor=100))
    now = times(costs_of_method(ring(9), [1, 2, 3, 4, 5], parameters=0), network)
    distance = np.minimum(np.arange(9), 9 - np.arange(9))
    for rounds, late in enumerate(now, 1):
        assert ((late > 50e6) == (distance <= rounds)).all()


def test_permuting_the_nodes_permutes_the_times():
    n, order = 7, np.random.default_rng(1).permutation(7)
    graph = build_network("random_digraph", n, {"p": 0.4}, 0)
    sent = graph.messages(0)
    arcs = [(a, b) for a, b in zip(sent.source, sent.target, strict=True) if a != b]
    network = uneven(n, compute=Compute(0.002, slow_node=2, slow_factor=3))
    moved = network.placed(order)
    moved = replace(moved, compute=replace(network.compute, slow_node=int(np.flatnonzero(order == 2)[0])))
    place = np.argsort(order)
    there = StaticGraph(n, [(place[a], place[b]) for a, b in arcs], directed=True)
    before = times(costs_of_method(StaticGraph(n, arcs, directed=True), [0, 9, 40], 5000), network)
    after = times(costs_of_method(there, [0, 9, 40], 5000), moved)
    assert (after == before[:, order]).all()


def test_without_communication_the_slowest_node_computes():
    network = uniform(50, 1, compute=Compute(0.01, slow_node=3, slow_factor=4))
    alone = seconds(costs_of_method(StaticGraph(5, [], kind="alone"), [0, 100], 10**6, gradients=2), network)
    assert alone.slowest.tolist() == [0, 8.0]
    assert alone.mean[1] == pytest.approx((4 * 2 + 8) / 5)


@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_rounds_add_latency_and_not_compute(rounds):
    network = uniform(10, 1000, uplink="separate", compute=Compute(0.004))
    now = times(costs_of_method(ring(5), [0, 3], parameters=100, rounds=rounds, vectors=5), network)
    assert (now[1] == 3 * (4_000_000 + rounds * 10_000_000 + 5 * 3200)).all()


def test_rounds_of_different_sizes():
    network = uniform(0, 8, uplink="separate")
    now = times(costs_of_method(ring(4), [0, 1], parameters=1000, vectors=[3, 1]), network)
    assert (now[1] == 4 * 1000 * 32 * 125).all()
    uneven_rounds = costs_of_method(ring(6), [0, 1, 2, 3], 4000, vectors=[3, 1])
    slow = uneven(6)
    sizes = [3 * 4000 * 32, 4000 * 32]
    assert times(uneven_rounds, slow)[1:].tolist() == literal_times(uneven_rounds, slow, 3, sizes)


def test_fewer_rounds_than_steps():
    network = uniform(10, 1000, compute=Compute(0.001))
    now = times(costs_of_method(ring(4), [0, 10], parameters=0, rounds=0.2, vectors=0.2), network)
    assert (now[1] == 10 * 1_000_000 + 2 * 10_000_000).all()


@pytest.mark.parametrize("name", ["gradient_s", "exponential_s", "other_s", "lognormal_sigma"])
def test_compute_times_have_limits(name):
    with pytest.raises(UserError, match=f"{name} .*1e"):
        Compute(**{name: 1e300})


@pytest.mark.parametrize(
    "more", [{"compute": Compute(1e6, slow_node=1, slow_factor=10)}, {"window_bits": 1e-6}], ids=["compute", "link"]
)
def test_times_that_do_not_fit_into_whole_nanoseconds_are_rejected(more):
    """They gave less time than a usual network."""
    with pytest.raises(UserError, match=r"more than 1e\+06 s"):
        times(costs_of_method(ring(4), [0, 10], parameters=100), uniform(10, 1, **more))


@pytest.mark.parametrize("sigma", [0.0, 0.01])
def test_a_run_of_centuries_is_rejected(sigma):
    """Its times do not fit into 64 bits, and became negative."""
    compute = Compute(6e5, lognormal_sigma=sigma)
    assert (times(costs_of_method(ring(4), [0, 10_000], parameters=10), uniform(10, 1, compute=compute)) >= 0).all()
    with pytest.raises(UserError, match="292 years"):
        times(costs_of_method(ring(4), [0, 10_000, 20_000], parameters=10), uniform(10, 1, compute=compute))


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("kind", ["reliable", "lossy"])
def test_steps_without_communication_pass_over_their_round(name, kind):
    """As of ProxSkip, whose coins decide: its k-th message is not one of round k."""
    graph = links[kind](**LOSSES[kind]).over(build_network(name, 8, GRAPHS[name], 3), 3)
    network = uneven(8, timeout_s=0.2, loss=0.1, compute=Compute(0.01, lognormal_sigma=0.5))
    talks = np.random.default_rng(0).random(40) < 0.3
    every = costs_of_method(graph, range(1, 41), parameters=700, seed=3)
    costs = replace(every, rounds=np.cumsum(talks), bits=np.cumsum(talks * 700 * 32.0))
    assert times(costs, network).tolist() == literal_times(every, network, 40, [700 * 32], np.flatnonzero(~talks))


def test_silent_steps_that_repeat_are_skipped_exactly(monkeypatch):
    graph, network = build_network("one_peer_exponential", 8, {}, 3), uneven(8, compute=Compute(0.01))
    every = costs_of_method(graph, [1, 2, 502, 503], parameters=700)
    costs = replace(every, rounds=np.array([1, 2, 2, 3]), bits=np.array([1, 2, 2, 3]) * 700 * 32.0)
    fast = times(costs, network)
    monkeypatch.setattr(Regime, "repeats", lambda *_: None)
    assert (times(costs, network) == fast).all()


def test_the_start_of_a_run_takes_time():
    network = uniform(10, 1000, compute=Compute(0.001))
    costs = replace(costs_of_method(ring(4), [0, 2], 0), rounds=np.array([1, 3]), gradients=np.array([1.0, 3.0]))
    assert times(costs, network)[:, 0].tolist() == [11_000_000, 33_000_000]


@pytest.mark.parametrize(
    ("parameters", "edges", "expected"),
    [
        (8066, RING8, (0.240, 0.241, 0.243)),
        (8066, COMPLETE8, (0.243, 0.249, 0.254)),
        (272_000, RING8, (0.289, 0.340, 0.391)),
        (272_000, COMPLETE8, (0.416, 0.594, 0.774)),
        (10_000_000, RING8, (2.11, 3.98, 5.85)),
        (10_000_000, COMPLETE8, (6.9, 13.6, 20.3)),
    ],
)
def test_eight_cities(parameters, edges, expected):
    network = load_network("cities8")
    for vectors, round_s in zip((1, 2, 3), expected, strict=True):
        costs = costs_of_method(StaticGraph(8, edges), [0, 1000], parameters, vectors=vectors, gradients=0)
        assert seconds(costs, network).slowest[1] / 1000 == pytest.approx(round_s, rel=4e-3)


@pytest.mark.parametrize(
    ("latency_ms", "gigabits", "measured_s"), [(1, 5, 0.71), (5, 2, 1.77), (10, 1, 4.06), (50, 1, 7.57)]
)
def test_published_times_of_all_reduce(latency_ms, gigabits, measured_s):
    """256 MB on 4 machines, as measured by the authors of tc_cluster_setting. TCP's window matters at 50 ms."""
    window = load_network("wan").window_bits
    network = uniform(latency_ms, 1000 * gigabits, window_bits=window)
    costs = costs_of_method(StaticGraph(4, [], kind="all_reduce"), [1], 2**26, gradients=0)
    assert seconds(costs, network).slowest[0] == pytest.approx(measured_s, rel=0.25)


def test_all_reduce_is_its_formula_and_a_barrier():
    network = uniform(10, 100, compute=Compute(0.001, slow_node=2, slow_factor=50))
    costs = costs_of_method(StaticGraph(5, [], kind="all_reduce"), [0, 1], 10_000)
    now = times(costs, network)[1]
    assert (now == 50_000_000 + 2 * 4 * 10_000_000 + 2 * 4 * 10_000 * 32 * 10 // 5).all()


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("name", GRAPHS)
def test_equals_a_literal_loop(name, kind):
    graph = links[kind](**LOSSES[kind]).over(build_network(name, 8, GRAPHS[name], 3), 3)
    network = uneven(8, timeout_s=0.2, loss=0.1, compute=Compute(0.01, lognormal_sigma=0.5, exponential_s=0.01))
    costs = costs_of_method(graph, range(1, 41), parameters=700, rounds=2, vectors=2, seed=3)
    expected = literal_times(costs, network, 40, [700 * 32] * 2)
    assert times(costs, network).tolist() == expected
    at_end = replace(costs, **{key: getattr(costs, key)[-1:] for key in ("steps", "rounds", "gradients", "bits")})
    assert times(at_end, network)[0].tolist() == expected[-1]


@pytest.mark.parametrize("name", GRAPHS)
def test_skips_repeated_steps_exactly(name, monkeypatch):
    graph = build_network(name, 8, GRAPHS[name], 3)
    network = uneven(8, uplink="separate", compute=Compute(0.01, slow_node=1, slow_factor=2))
    costs = costs_of_method(graph, [0, 7, 500, 777], parameters=700, rounds=2, vectors=2)
    fast = times(costs, network)
    monkeypatch.setattr(Regime, "repeats", lambda *_: None)
    assert (times(costs, network) == fast).all()


def test_lost_messages_need_a_time_out():
    graph = links["lossy"](p=0.5).over(build_network("ring", 8, {}, 0), 0)
    costs = costs_of_method(graph, [10], 100)
    with pytest.raises(UserError, match="timeout_ms"):
        seconds(costs, uniform(1, 1, name="mine"))
    late = seconds(costs, uniform(1, 1, timeout_s=0.5)).slowest[0]
    assert late > 0.5 + seconds(costs_of_method(ring(8), [10], 100), uniform(1, 1)).slowest[0]


positive = st.floats(0.01, 100)


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_no_parameter_makes_a_run_faster_by_growing(data):
    values = {
        "latency": data.draw(positive),
        "slowness": data.draw(positive),
        "gradient": data.draw(positive),
        "factor": 1 + data.draw(positive),
        "exponential": data.draw(positive),
        "loss": data.draw(st.floats(0.01, 0.9)),
        "timeout": data.draw(positive),
        "parameters": data.draw(st.integers(1, 10**6)),
        "vectors": data.draw(st.integers(1, 4)),
        "rounds": data.draw(st.integers(1, 3)),
    }
    graph = build_network("random_digraph", 5, {"p": 0.5}, 0)
    name = data.draw(st.sampled_from(sorted(values)))
    more = values[name] + 1 if isinstance(values[name], int) else values[name] * 1.1
    if name == "rounds":
        values["loss"] = 0.0  # with more rounds in a step, other messages are lost
    less, greater = (_duration(graph, {**values, name: value}) for value in (values[name], min(more, 10**6)))
    assert (greater >= less).all()
    assert (less > 0).all()


def _duration(graph, v):
    compute = Compute(v["gradient"] / 1000, 0.3, v["exponential"] / 1000, 1, v["factor"])
    attributes = {"compute": compute, "loss": min(v["loss"], 0.99), "timeout_s": v["timeout"] / 1000}
    network = uniform(v["latency"], 100 / v["slowness"], **attributes)
    costs = costs_of_method(graph, [0, 10], v["parameters"], rounds=v["rounds"], vectors=v["vectors"] * v["rounds"])
    return times(costs, network)[1]


def test_the_clock_is_fast():
    """10,001 steps of 64 nodes, with stragglers, so that no step can be skipped."""
    network = uniform(1, 1000, compute=Compute(0.001, lognormal_sigma=0.6))
    costs = costs_of_method(ring(64), np.arange(0, 10_002, 100), parameters=1000)
    began = time.process_time()
    seconds(costs, network)
    assert time.process_time() - began < 0.5


def test_random_times_depend_on_the_seed_and_not_on_the_evaluations():
    network = uniform(1, 1000, compute=Compute(0.001, lognormal_sigma=0.6))
    often = times(costs_of_method(ring(8), range(0, 3001), 100), network)
    seldom = times(costs_of_method(ring(8), [0, 1500, 3000], 100), network)
    assert (often[[0, 1500, 3000]] == seldom).all()
    other = times(costs_of_method(ring(8), [0, 1500, 3000], 100, seed=1), network)
    assert (other[1:] != seldom[1:]).all()
