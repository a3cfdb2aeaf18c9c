"""Costs of a stored run: from its labels, its manifest and the columns of its evaluations."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from bench.base import renamed
from bench.base.errors import UserError
from bench.clock.choice import missing
from bench.clock.costs import Graph, RunCosts, StaticGraph, check_size, places
from bench.network.drawn import build_network
from bench.network.graphs import NetworkKind
from bench.network.mixing import Mixing
from bench.network.sparse import Arcs
from bench.network.weights import weighed
from bench.store.record import LATER

REFERENCES: dict[str, NetworkKind] = {"all_reduce": "all_reduce", "alone": "alone"}
MOST_NODES = 10_000
"""Links between so many nodes take several GB; a label of a stranger may claim more."""
MOST_BUILT = 2_000
"""Building a graph of so many nodes from its topology takes up to a minute."""
SLACK = 100
"""A random coin or a plug-in may need more rounds than its method declares, but not so many times as many."""
SINGLE = 1e-6
"""The relative error of bytes in an archive, which has them in single precision."""


def costs_of_run(labels: Mapping[str, Any], manifest: Mapping[str, Any], rows: Mapping[str, Any]) -> RunCosts:
    """Return the costs of a stored run.

    Rounds, gradients and bytes are those that the run counted. Where an old run has not counted rounds or gradients,
    they are those that its method declares.

    Args:
        labels: Its labels: nodes, seed, batch_size, topology, topology.OPTION, links, links.OPTION.
        manifest: Its manifest: ``mixing`` with the edges, ``algorithm`` with the declared costs.
        rows: Its evaluations: arrays of step and bytes, and where present of rounds, gradients and compute_s.

    Raises:
        UserError: Counts are missing, or the graph of the run is not known.
    """
    name = str(labels.get("run_id", "this run"))
    nodes, seed = int(_label(labels, "nodes", name)), int(_label(labels, "seed", name))
    if nodes > MOST_NODES:
        raise UserError(f"The run {name} has {nodes} nodes; times on a network have a limit of {MOST_NODES} nodes.")
    steps = _column(rows, "step", name)
    if steps is None or not len(steps):
        raise UserError(f"The run {name} has no evaluations, so that it has no time on a network.")
    declared = {renamed.PROPERTIES.get(key, key): value for key, value in (manifest.get("algorithm") or {}).items()}
    if declared.get("events"):
        raise UserError(f"The run {name} is asynchronous, so that it has a time on its own network only (virtual_s).")
    graph = _graph(labels, manifest, nodes, seed, name)
    rounds = _column(rows, "rounds", name)
    if rounds is None:
        rounds = np.floor(steps * _declared(declared, "rounds", name) + declared.get("start_rounds", 0) + 1e-9)
    most = SLACK * max(1.0, float(declared.get("rounds") or 1)) * (steps.max() + 1)
    if not rounds.max() <= most + float(declared.get("start_rounds") or 0):
        raise UserError(
            f"The run {name} counts {rounds.max():g} rounds in {steps.max():g} steps, more than {SLACK} times those of "
            "its method, so that it has no time on a network. Repeat the run."
        )
    gradients = _column(rows, "gradients", name)
    if gradients is not None:
        gradients = gradients / (int(_label(labels, "batch_size", name)) * nodes)
    else:
        each = declared.get("gradients", declared.get("samples"))
        gradients = steps * float(_declared({"gradients": each}, "gradients", name))
    sent = _column(rows, "bytes", name)
    if sent is None:
        raise UserError(f"The run {name} has not counted its bytes, so that it has no time on a network.")
    measured = _column(rows, "compute_s", name)
    processes = int(manifest.get("ranks") or 1)
    return RunCosts(
        graph=graph,
        steps=steps.astype(np.int64),
        rounds=rounds.astype(np.int64),
        gradients=gradients,
        bits=_message_bits(graph, steps, rounds.astype(np.int64), 8 * sent),
        seed=seed,
        gradient_s=None
        if measured is None or not gradients[-1]
        else float(measured[-1] * min(processes, nodes) / nodes / gradients[-1]),
    )


def _message_bits(graph: Graph, steps: np.ndarray, rounds: np.ndarray, bits: np.ndarray) -> np.ndarray:
    """Return the size of one message of every round, added up to each evaluation, from the bits of all messages."""
    copies = _copies(graph, steps, rounds)
    if not copies[-1]:
        return np.zeros(len(bits))
    size = np.rint(bits[-1] / copies[-1])
    if np.allclose(size * copies, bits, rtol=SINGLE, atol=0):
        return size * rounds
    new = np.diff(copies, prepend=0)
    each = np.diff(bits, prepend=0) * np.diff(rounds, prepend=0) / np.maximum(new, 1)
    return np.where(new > 0, np.maximum(each, 0), 0).cumsum()


def _copies(graph: Graph, steps: np.ndarray, rounds: np.ndarray) -> np.ndarray:
    """Return how many times a message has been sent in the whole network, up to each evaluation."""
    if graph.kind != "gossip":
        return rounds * (2 * (graph.nodes - 1) if graph.kind == "all_reduce" else 0)
    if graph.period == 1:
        return rounds * _sent(graph, 0, 0)
    if graph.period is not None and (np.diff(rounds) >= np.diff(steps)).all():
        turns = np.array([_sent(graph, r, 0) for r in range(graph.period)])
        whole, rest = np.divmod(rounds, graph.period)
        return whole * turns.sum() + np.append(0, turns.cumsum())[rest]
    check_size(graph, int(rounds[-1]))
    each = [_sent(graph, r, t) for r, t in zip(*(part.tolist() for part in places(steps, rounds)), strict=True)]
    return np.append(0, np.cumsum(each))[rounds]


def _sent(graph: Graph, r: int, t: int) -> int:
    if isinstance(graph, Mixing):
        return graph.bill(r, t)[1]
    messages = graph.messages(r, t)
    return int(np.count_nonzero(messages.source != messages.target))


def _graph(labels: Mapping[str, Any], manifest: Mapping[str, Any], nodes: int, seed: int, name: str) -> Graph:
    """Return the graph by the edges in the manifest; a changing or lossy one is built from its topology."""
    topology = str(_label(labels, "topology", name))
    links = labels.get("links")
    reliable = missing(links) or links == LATER["links"]
    mixing = manifest.get("mixing") or {}
    if topology in REFERENCES:
        return StaticGraph(nodes, [], kind=REFERENCES[topology])
    if reliable and mixing.get("period") == 1 and "edge_list" in mixing:
        return _static(nodes, tuple(map(tuple, mixing["edge_list"])), bool(mixing.get("directed", False)))
    options = _options(labels, "topology")
    edges: tuple[tuple[int, int], ...] | None = None
    if "file" in dict(options):  # the file may have changed, or may be that of a stranger
        if "edge_list" not in mixing:
            raise UserError(
                f"The run {name} has a graph from a file with too many edges for its manifest, so that it has no time "
                "on a network."
            )
        edges, options = tuple(map(tuple, mixing["edge_list"])), (("directed", bool(mixing.get("directed", False))),)
    elif nodes > MOST_BUILT:
        raise UserError(
            f"The run {name} has {nodes} nodes on a graph that changes, loses messages or has many edges; times on a "
            f"network have a limit of {MOST_BUILT} nodes on such graphs."
        )
    lost = None if reliable else (str(links), _options(labels, "links"))
    return _built(topology, nodes, options, seed if lost or mixing.get("drawn") else 0, lost, edges)


@lru_cache(maxsize=256)
def _static(nodes: int, edges: tuple[tuple[int, int], ...], directed: bool) -> StaticGraph:
    return StaticGraph(nodes, edges, directed)


@lru_cache(maxsize=64)
def _built(
    topology: str,
    nodes: int,
    options: tuple[tuple[str, Any], ...],
    seed: int,
    lost: tuple[str, tuple[tuple[str, Any], ...]] | None,
    edges: tuple[tuple[int, int], ...] | None,
) -> Mixing:
    from bench.base.registry import links

    if edges is None:
        network = build_network(topology, nodes, dict(options), seed)
    else:
        network = _of_edges(topology, nodes, edges, **dict(options))
    built: Mixing = network if lost is None else links[lost[0]](**dict(lost[1])).over(network, seed)
    return built


def _of_edges(topology: str, nodes: int, edges: tuple[tuple[int, int], ...], directed: bool) -> Mixing:
    """Return a network with these edges; its weights are not those of the run, but the messages are."""
    ends = np.array(edges, dtype=np.int64).reshape(-1, 2)
    if len(ends) and not 0 <= ends.min() <= ends.max() < nodes:
        raise ValueError("an edge has a node that does not exist")
    arcs = Arcs(nodes, ends[:, 0], ends[:, 1], directed)
    return Mixing([weighed(arcs, "out_degree" if directed else "metropolis")], topology)


def _options(labels: Mapping[str, Any], group: str) -> tuple[tuple[str, Any], ...]:
    own = {key.partition(".")[2]: value for key, value in labels.items() if key.startswith(f"{group}.")}
    return tuple(sorted((key, value) for key, value in own.items() if not missing(value)))


def _label(labels: Mapping[str, Any], label: str, name: str) -> Any:
    value = labels.get(label)
    if missing(value):
        raise UserError(f"The run {name} has no label '{label}', so that it has no time on a network.")
    return value


def _declared(declared: Mapping[str, Any], what: str, name: str) -> float:
    value = declared.get(what)
    if missing(value):
        raise UserError(
            f"The run {name} has not counted its {what} and its manifest does not declare them, so that it has no "
            "time on a network. Repeat the run."
        )
    return float(value)  # type: ignore[arg-type]


def _column(rows: Mapping[str, Any], column: str, name: str) -> np.ndarray | None:
    """Return a column, None if the run has not counted it; raise ``UserError`` if it is incomplete."""
    if column not in rows:
        return None
    values = np.asarray(rows[column], dtype=np.float64)
    if np.isnan(values).all():
        return None
    if np.isnan(values).any():
        raise UserError(
            f"The run {name} has not counted '{column}' at all its evaluations, so that it has no time on a network."
        )
    return values
