"""The best and the worst order of sites."""

import numpy as np
import pytest

from analysis.study.placement import best_and_worst
from bench.clock import StaticGraph, costs_of_method, load_network, seconds, uniform

RING = StaticGraph(8, [(i, (i + 1) % 8) for i in range(8)])
COSTS = costs_of_method(RING, [500], parameters=8066)


def test_no_random_order_of_cities_is_better_than_the_best_or_worse_than_the_worst():
    cities = load_network("cities8")
    found = best_and_worst(COSTS, cities)
    assert found is not None
    low, high = (seconds(COSTS, each).slowest[0] for each in found)
    generator = np.random.default_rng(0)
    others = [seconds(COSTS, cities.placed(generator.permutation(8))).slowest[0] for _ in range(30)]
    assert low <= min(others) * 1.001
    assert high >= max(others) * 0.999
    # On a ring, Tokyo and Seoul need two links to other continents: at best 124 ms and 130 ms.
    assert low / 500 == pytest.approx(0.131, rel=0.02)
    assert found[0].order == best_and_worst(COSTS, cities)[0].order


@pytest.mark.parametrize("nodes", [9, 1])
def test_without_a_site_for_every_node_there_are_no_orders(nodes):
    graph = StaticGraph(nodes, [(i, (i + 1) % nodes) for i in range(nodes)] if nodes > 1 else [])
    assert best_and_worst(costs_of_method(graph, [10], parameters=10), load_network("cities8")) is None


def test_a_network_without_sites_has_no_orders():
    assert best_and_worst(COSTS, uniform(1, 1)) is None
