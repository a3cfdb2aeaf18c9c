"""Random compute times are drawn block by block."""

import tracemalloc

import numpy as np

from bench.clock import Compute, StaticGraph, costs_of_method, seconds, uniform


def test_many_steps_take_the_memory_of_few_blocks():
    """The random compute times of all steps together have 45 MB, and those of a block 9 MB."""
    costs = costs_of_method(StaticGraph(1100, [], kind="alone"), [0, 5000], parameters=1)
    network = uniform(1, 1000, compute=Compute(0.001, lognormal_sigma=0.6))
    tracemalloc.start()
    seconds(costs, network)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 110 * 10**6


def test_blocks_of_random_times_are_those_of_all_steps_together():
    compute = Compute(0.001, lognormal_sigma=0.6, exponential_s=0.1)
    for first, count in ((0, 1), (0, 1024), (1, 1024), (1023, 1026), (700, 3000)):
        blocks = list(compute.draws_by_block(3, 5, first, count))
        for part, whole in zip(zip(*blocks, strict=True), compute.draws(3, 5, first, count), strict=True):
            assert (np.concatenate(part) == whole).all()
