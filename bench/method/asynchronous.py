"""The base class of asynchronous methods, whose nodes do not wait for each other.

A node computes one gradient after another. When a gradient ends, a message arrives or two nodes meet, the method
changes the state of the nodes involved. The order of these events does not depend on numbers: it is drawn before the
run (bench/events/tape.py). States have the shape (R, n, P), or (R, n, d, P) with one entry per sender, for R
independent runs (replicas), n nodes, at most d senders per node and P parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bench.method.algorithm import Algorithm
from bench.method.protocols import Grad, Mix

Place = tuple[slice, slice]


class Node:
    """The node of an event: its place in the state, its neighbors, and what it sends.

    Attributes:
        i: The number of the node.
        at: Its place in a state: ``s.x[node.at]`` has the shape (R, 1, P), a state per sender (R, 1, d, P).
        senders: The nodes whose messages it receives.
        receivers: The nodes that receive its messages.
        weight: Its own weight in the mixing matrix W.
        weights: The weights of its senders, (d, 1); zero beyond its own senders.
        t: The step of the event, the index of stepsizes: the virtual time in units of a nominal gradient, rounded down.
        number: How many gradients of this node have ended before.
        since: The virtual time since its last gradient or meeting, in units of a nominal gradient.
        pace: The compute time of the node relative to the nominal one.
    """

    def __init__(
        self,
        i: int,
        senders: Sequence[int],
        receivers: Sequence[int],
        weight: float,
        weights: Tensor,
        pace: float,
        post: Callable[[Node, tuple[Tensor, ...]], None],
    ) -> None:
        self.i, self.at = i, (slice(None), slice(i, i + 1))
        self.senders, self.receivers, self.weight, self.weights, self.pace = senders, receivers, weight, weights, pace
        self._place = {sender: place for place, sender in enumerate(senders)}
        self._post = post
        self.t, self.number, self.since = 0, 0, 0.0

    def heard(self, sender: int) -> tuple[slice, slice, int]:
        """Return the place of a sender in a state per sender: ``s.heard[node.heard(sender)]`` is (R, 1, P)."""
        return (*self.at, self._place[sender])

    def send(self, *tensors: Tensor) -> None:
        """Send tensors (R, 1, P) or (R, 1, 1) to all receivers: at most once in ``on_gradient``, and nowhere else."""
        self._post(self, tensors)

    def average(self, own: Tensor, heard: Tensor) -> Tensor:
        """Return w_ii own + Σ_j w_ij heard_j, (R, 1, P), of (R, 1, P) and (R, 1, d, P)."""
        return self.weight * own + (self.weights * heard).sum(-2)


class Graph:
    """The arcs of the network of an asynchronous run."""

    def __init__(self, nodes: int, source: np.ndarray, target: np.ndarray) -> None:
        """The arcs source → target, without self-loops."""
        self.nodes, self.source, self.target = nodes, source, target
        self.senders = [np.sort(source[target == i]).tolist() for i in range(nodes)]
        self.receivers = [np.sort(target[source == i]).tolist() for i in range(nodes)]
        self.slots = max(1, *map(len, self.senders))

    def per_sender(self, x: Tensor) -> Tensor:
        """Return the values of the senders of every node, (R, n, d, P), of values (R, n, P)."""
        out = x.new_zeros(*x.shape[:2], self.slots, x.shape[2])
        for i, senders in enumerate(self.senders):
            out[:, i, : len(senders)] = x[:, senders]
        return out


def sending(cls: type[Asynchronous], options: Mapping[str, Any]) -> Callable[[np.ndarray], np.ndarray] | None:
    """Return after which gradients a node of a method with these options sends; None: after every one."""
    if cls.sends_after is Asynchronous.sends_after:
        return None
    own = {name: options[name] for name in cls.structure_options()}
    return lambda number: cls.sends_after(number, **own)


class Asynchronous(Algorithm):
    """Base class of asynchronous methods. Define ``begin`` and what a node does at an event.

    Declare ``events`` in ``@algorithm``: ``"messages"`` (nodes send when a gradient ends and never wait), ``"pairs"``
    (a node whose gradient has ended averages with one neighbor), ``"meetings"`` (pairs of neighbors meet at random
    times) or ``"one_late"`` (a node waits for the messages of its neighbors' last but one gradient). An option ``rate``
    of a method with meetings is the mean number of meetings of a node per nominal gradient. The costs
    ``vectors_per_step`` and ``scalars_per_step`` are those of one message.

    Unlike the states of other methods, these are modified in place. Only the state may change.

    Example:
        >>> class State(NamedTuple):
        ...     x: Tensor
        >>> @algorithm("mine", events="pairs", vectors_per_step=1, cite="folklore")
        ... class Mine(Asynchronous):
        ...     def begin(self, x):
        ...         return State(x)
        ...     def on_gradient(self, s, node, g):
        ...         s.x[node.at] -= self.eta[node.t] * g
        ...     def on_pair(self, s, one, other):
        ...         s.x[one.at] = s.x[other.at] = (s.x[one.at] + s.x[other.at]) / 2
    """

    graph: Graph
    """The arcs of the network. Set before ``begin``."""

    @staticmethod
    def sends_after(number: np.ndarray, **options: Any) -> np.ndarray:
        """Return whether a node sends a message after its gradients with these numbers, from 0, with these options.

        The default is after every one. A message that is declared, but not sent, still occupies its links.
        """
        return np.ones(len(number), dtype=bool)

    def begin(self, x: Tensor) -> Any:
        """Return the state before the first event.

        Args:
            x: The initial points, (R, n, P).

        Returns:
            A NamedTuple of tensors with a field ``x``, at which gradients are computed and which is reported.
        """
        raise NotImplementedError

    def on_gradient(self, s: Any, node: Node, g: Tensor) -> None:
        """Change the state of a node whose gradient has ended. The next gradient begins at its x.

        Args:
            s: The state.
            node: The node.
            g: The mini-batch gradient at the point where the node began to compute it, (R, 1, P).
        """
        raise NotImplementedError

    def on_message(self, s: Any, node: Node, sender: int, *received: Tensor) -> None:
        """Change the state of a node that receives a message.

        Args:
            s: The state.
            node: The receiver.
            sender: The number of the sender.
            *received: The tensors that the sender sent.
        """
        raise NotImplementedError

    def on_pair(self, s: Any, one: Node, other: Node) -> None:
        """Change the states of two nodes that meet. Every node sends its share of ``vectors_per_step`` to the other."""
        raise NotImplementedError

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> Any:
        """Return ``begin`` at a copy of x."""
        return self.begin(x.clone())

    def step(self, s: Any, t: int, grad: Grad, mix: Mix) -> Any:
        """Raise an error: events take the place of steps."""
        raise NotImplementedError("An asynchronous method has events instead of steps. Use engine=events.")


def weights_of(graph: Graph, w: np.ndarray, dtype: torch.dtype, device: torch.device) -> list[tuple[float, Tensor]]:
    """Return every node's own weight and those of its senders, (d, 1), from the matrix W, (n, n)."""
    out = []
    for i, senders in enumerate(graph.senders):
        column = np.zeros((graph.slots, 1))
        column[: len(senders), 0] = w[i, senders]
        out.append((float(w[i, i]), torch.as_tensor(column, dtype=dtype, device=device)))
    return out
