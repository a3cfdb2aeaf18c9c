"""Events of asynchronous methods: their order and times, drawn before a run.

No time depends on a computed number, so that the graph, the network and the seed determine all events of a run.
Imports no torch and no Hydra.

    tape = draw_tape("messages", source, target, delays, network.compute, seed, nodes, steps)
    tape.upto(10)       # rows of the first ten nominal gradient times
    tape.summary(10)    # gradients, idle seconds, staleness and messages until then
    tape.hash()         # identifies the tape
"""

from bench.events.rows import Kind, Pattern
from bench.events.tape import Tape, draw_tape

__all__ = ["Kind", "Pattern", "Tape", "draw_tape"]
