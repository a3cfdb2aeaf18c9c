"""The tape against simulations of one event after another, and its properties."""

import subprocess
import sys
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

from bench.clock import Compute
from bench.events import Kind, Tape
from bench.store.record import TAKEN
from tests.bench.events import literal
from tests.bench.events.literal import Case

PATTERNS = ("messages", "pairs", "meetings", "one_late")
GRAPHS = {
    "ring6": nx.cycle_graph(6),
    "star5": nx.star_graph(4),
    "grid": nx.convert_node_labels_to_integers(nx.grid_2d_graph(2, 3)),
    "parts": nx.Graph([(0, 1), (3, 4), (4, 5)]),  # two components; node 2 is alone
}
GRAPHS["parts"].add_node(2)
COMPUTE = {
    "equal": Compute(1e-6),
    "slow": Compute(1e-6, slow_node=1, slow_factor=3),
    "fast": Compute(1e-6, slow_node=0, slow_factor=0.25),
    "jitter": Compute(1e-6, lognormal_sigma=0.6),
    "all": Compute(1e-6, lognormal_sigma=0.4, exponential_s=3e-7, slow_node=0, slow_factor=4, other_s=5e-7),
}
LINKS = {  # smallest and largest delay and transfer in nanoseconds
    "quick": (1, 2, 0, 1),
    "usual": (100, 400, 20, 100),
    "equal": (500, 501, 500, 501),  # many events at equal times
    "late": (2500, 9000, 0, 300),
    "saturated": (2500, 4000, 1200, 2500),
}


def case(graph="ring6", compute="equal", links="usual", seed=3, **attributes):
    draws, network = np.random.default_rng(7), GRAPHS.get(graph, graph)
    delay, until, transfer, most = LINKS[links]
    arcs = [each for i, j in network.edges for each in ((i, j), (j, i))]
    times = {arc: (int(draws.integers(delay, until)), int(draws.integers(transfer, most))) for arc in arcs}
    return Case(len(network), times, COMPUTE.get(compute, compute), seed=seed, **attributes)


def rows(tape):
    names = ("time", "kind", "node", "peer", "number", "begins", "computed")
    return list(zip(*(getattr(tape, name).tolist() for name in names), strict=True))


def check(pattern, at):
    end = at.steps * at.unit
    tape = at.tape(pattern)
    simulate = getattr(literal, pattern)
    drawn, later = simulate(at, end), simulate(at, 3 * end)
    lost, replaced = drawn[1:] if pattern == "messages" else ((), ())
    expected, later = (drawn[0], later[0]) if pattern == "messages" else (drawn, later)
    assert rows(tape) == expected
    assert (np.diff(tape.time) >= 0).all()
    for steps in (0, 1, at.steps // 2, at.steps):
        until = [row for row in expected if row[0] <= steps * at.unit]
        assert tape.upto(steps) == len(until)
        facts = literal.summary(at, pattern, steps * at.unit, until, later, lost, replaced)
        assert tape.summary(steps) == pytest.approx(facts, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("links", LINKS)
@pytest.mark.parametrize("compute", COMPUTE)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_equals_a_simulation_of_every_event(pattern, compute, links):
    for graph in GRAPHS:
        check(pattern, case(graph, compute, links, steps=12))


@pytest.mark.parametrize("links", ["usual", "saturated"])
def test_lost_messages_equal_a_simulation(links):
    for compute in ("equal", "all"):
        at = case("grid", compute, links, options={"lost": 0.3})
        check("messages", at)
        assert at.tape("messages").summary(at.steps)["messages_lost"] > 20


@pytest.mark.parametrize("sends", [lambda k: (k + 1) % 2 == 0, lambda k: k % 3 == 0, lambda k: k > 0, lambda k: k < 0])
@pytest.mark.parametrize("links", ["usual", "saturated"])
def test_only_messages_that_are_sent_occupy_a_link(links, sends):
    for compute, lost in (("equal", 0.0), ("all", 0.3)):
        check("messages", case("grid", compute, links, options={"sends": sends, "lost": lost}))


@pytest.mark.parametrize("pattern", ["messages", "one_late"])
def test_directed_graphs_equal_a_simulation(pattern):
    directed = case("ring6", "all", "saturated")
    arcs = {arc: times for arc, times in directed.arcs.items() if arc[0] < arc[1]}
    check(pattern, replace(directed, arcs=arcs))


@pytest.mark.parametrize("rate", [0.1, 4.0])
def test_other_rates_of_meetings_equal_a_simulation(rate):
    check("meetings", case("grid", "jitter", "usual", steps=25, options={"rate": rate}))


@pytest.mark.parametrize("delay", [499, 500, 501])
def test_gradients_that_end_with_an_exchange_equal_a_simulation(delay):
    """The first exchange ends 1 ns before, with or 1 ns after the first gradient of the passive node."""
    slow = Compute(1e-6, slow_node=1, slow_factor=1.5)
    check("pairs", Case(2, {(0, 1): (delay, 0), (1, 0): (delay, 0)}, slow))


@pytest.mark.parametrize("pattern", PATTERNS)
def test_blocks_of_random_draws_continue(pattern):
    """Three nodes, of which one computes more than 1024 gradients."""
    at = case(nx.path_graph(3), Compute(1e-6, lognormal_sigma=0.3, slow_node=2, slow_factor=0.05), "quick", steps=80)
    check(pattern, at)
    assert pattern == "one_late" or at.tape(pattern).number.max() > 1024


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("compute", ["slow", "jitter", "all"])
def test_a_shorter_tape_is_a_prefix(pattern, compute):
    at = case("grid", compute, "saturated", options={"lost": 0.2} if pattern == "messages" else {})
    long, short = at.tape(pattern), at.tape(pattern, steps=17)
    assert rows(long)[: len(short)] == rows(short)
    assert long.upto(17) == len(short) == short.upto(17)
    assert long.summary(17) == short.summary(17)
    assert long.upto([0, 17, 40]).tolist() == [0, len(short), len(long)]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_double_times_change_only_the_clock(pattern):
    for compute in ("equal", "slow", "jitter"):
        at = case("ring6", compute, "saturated", options={"lost": 0.2} if pattern == "messages" else {})
        once, twice = (
            at.tape(
                pattern,
                arcs={arc: (factor * delay, factor * transfer) for arc, (delay, transfer) in at.arcs.items()},
                compute=replace(at.compute, gradient_s=factor * 1e-6),
            )
            for factor in (1000, 2000)
        )
        assert twice.unit == 2 * once.unit
        for name in ("kind", "node", "peer", "number"):
            assert (getattr(once, name) == getattr(twice, name)).all()
        # Random times are rounded to nanoseconds, at most once per gradient.
        rounding = 60 if compute == "jitter" else 1 if pattern == "meetings" else 0
        for name in ("time", "begins", "computed"):
            assert np.abs(2 * getattr(once, name) - getattr(twice, name)).max() <= rounding


def test_the_hash_identifies_the_tape_in_every_process():
    code = f"from tests.bench.events import literal; print(*literal.hashes({PATTERNS}))"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": "1"})
    assert done.stdout.split() == literal.hashes(PATTERNS)  # pytest has another hash seed
    assert len(set(literal.hashes(PATTERNS))) == len(PATTERNS)


def test_the_hash_depends_on_every_number():
    tape = case().tape("messages")
    for name in ("time", "kind", "node", "peer", "number", "begins", "computed"):
        other = getattr(tape, name).copy()
        other[3] += 1
        assert replace(tape, **{name: other}).hash() != tape.hash()
    assert replace(tape, unit=tape.unit + 1).hash() != tape.hash()
    assert replace(tape).hash() == tape.hash()


def test_the_order_of_arcs_does_not_matter():
    at = case("grid", "all", "saturated")
    backwards = replace(at, arcs=dict(reversed(at.arcs.items())))
    for pattern in PATTERNS:
        assert at.tape(pattern).hash() == backwards.tape(pattern).hash()


def test_columns_have_types_and_names_of_their_own():
    tape = case().tape("pairs")
    types = {"time": "int64", "kind": "int8", "node": "int32", "peer": "int32"}
    types |= dict.fromkeys(["number", "begins", "computed"], "int64")
    assert {name: getattr(tape, name).dtype.name for name in types} == types
    assert not TAKEN & set(tape.summary(1))


def test_a_tape_without_events_has_a_summary():
    tape = case().tape("messages", steps=0)
    assert len(tape) == 0
    assert set(tape.summary(0).values()) == {0.0}


def test_a_tape_can_be_written_by_hand():
    one = np.array([5])
    tape = Tape(one, np.array([Kind.GRADIENT]), one * 0, one * 0 - 1, one * 0, one * 0, one - 1, unit=5, nodes=2)
    facts = tape.summary(2)
    assert (facts["gradients_max"], facts["idle_s_max"], facts["virtual_s"]) == (1, 1e-9, 1e-8)
