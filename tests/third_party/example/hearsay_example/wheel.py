"""A ring with a hub."""

import networkx as nx

from bench.network import topology


@topology("wheel")
def wheel(nodes: int) -> nx.Graph:
    return nx.wheel_graph(nodes)
