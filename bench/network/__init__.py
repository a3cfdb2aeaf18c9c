"""Communication networks: graphs, weights, links, compressors and certificates of mixing."""

from bench.network.graphs import topology

__all__ = ["topology"]
