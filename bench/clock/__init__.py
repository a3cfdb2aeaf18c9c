"""Seconds of a run on a physical network, from the costs that the run counted.

Synchronous gossip is a recursion in (max, +) over compute times, latencies and bandwidths. It changes no number of a
run, so that a stored run has a time on every network. The clock counts int64 nanoseconds; random compute times and
losses are keyed by the seed of the run, so that all methods see the same ones. Imports no torch and no Hydra.

    network = load_network("cities8")               # a file of bench/clock/networks, or the path of a file
    costs = costs_of_run(labels, manifest, rows)    # a stored run; or costs_of_method(graph, steps, rounds=…, …)
    times = seconds(costs, network)                 # arrays over the evaluations: times.slowest, times.mean

For studies of a parameter:

    network.changed(latency_ms=20, bandwidth_mbps=100)   # the same latency and bandwidth on all links
    network.placed([3, 0, 1, …])                         # node i at site order[i], such as another order of cities
    network.changed(compute=Compute(gradient_s=0.01))    # another time per mini-batch gradient, other stragglers
    uniform(latency_ms=1, bandwidth_mbps=1000)           # a network without a file
    seconds(costs, network, gradient_s=0.02)             # a measured time per mini-batch gradient
    network_names()                                      # the files of bench/clock/networks

All of them raise ``UserError`` with a sentence for the user.
"""

from bench.clock.choice import network_of_run
from bench.clock.compute import Compute
from bench.clock.costs import RunCosts, StaticGraph, costs_of_method
from bench.clock.files import load_network, network_names
from bench.clock.network import Network, uniform
from bench.clock.recursion import Seconds, seconds
from bench.clock.stored import costs_of_run

__all__ = [
    "Compute",
    "Network",
    "RunCosts",
    "Seconds",
    "StaticGraph",
    "costs_of_method",
    "costs_of_run",
    "load_network",
    "network_names",
    "network_of_run",
    "seconds",
    "uniform",
]
