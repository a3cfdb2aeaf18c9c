"""Who hears whom, with which weight, and the proof that it mixes."""

from bench.network.graphs import topology

__all__ = ["topology"]
