"""The events of an asynchronous run: gradients that end, messages that arrive, and pairs of nodes that meet.

The tape holds all events in their order. One step of the training loop plays the events of one nominal gradient time.
Every node has one gradient under way, at a point that was fixed when it began, so that the gradients of all nodes can
be computed together when the first of them is needed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bench.base.errors import Misfit, UserError
from bench.base.node_samples import NodeSamples, NotPerNode
from bench.events.tape import Kind, Tape
from bench.method.asynchronous import Asynchronous, Graph, Node, weights_of
from bench.network.mixing import Operator
from bench.problem.problem import Column, Problem
from bench.store.record import EVENT_COLUMNS
from bench.training.costs import CostCounter
from bench.training.hosting import Mixer
from bench.training.running_sums import CHANNEL

BEGUN, UNDER_WAY = f"{CHANNEL}begun", f"{CHANNEL}under_way"

TIMED = {name: Column(label, None) for name, label in EVENT_COLUMNS.items()}
"""The columns that the tape determines."""


class Events(Mixer):
    """Plays a tape. It holds what is between the nodes: messages under way, and the points of running gradients."""

    tape: Tape
    _sender: Node | None  # the node that may send now

    def __init__(
        self,
        draw: Callable[[int], Tape],
        graph: Graph,
        w: np.ndarray,
        paces: np.ndarray,
        sends: Callable[[np.ndarray], np.ndarray] | None = None,
    ) -> None:
        """Prepare a network.

        Args:
            draw: Returns the tape for messages of so many bits.
            graph: The arcs.
            w: The mixing matrix, (n, n).
            paces: The compute time of every node relative to the nominal one, (n,).
            sends: After which gradients a node sends, as the tape assumes; None: after every one.
        """
        self._draw, self._graph, self._w, self._paces, self._sends_after = draw, graph, w, paces, sends
        self._restored: Mapping[str, Tensor] = {}

    def __call__(self, r: int, t: int, tensors: tuple[Tensor, ...], by: Operator = "mix") -> tuple[Tensor, ...]:
        raise NotImplementedError("An asynchronous run has no rounds.")

    def attach(self, method: Asynchronous, problem: Problem, costs: CostCounter, step: int) -> None:
        """Prepare to play the events after ``step`` steps."""
        self._method, self._problem, self._costs = method, problem, costs
        setting, layout = problem.setting, problem.layout
        self._widths = _widths(method, layout.size)
        self._sends, self._sender = method.properties.events in ("messages", "one_late"), None
        self.tape = self._draw(sum(self._widths) * 8 * setting.dtype.itemsize)
        method.graph = self._graph
        own = weights_of(method.graph, self._w, setting.dtype, setting.device)
        senders, receivers = method.graph.senders, method.graph.receivers
        self._nodes = [
            Node(i, senders[i], receivers[i], *own[i], float(self._paces[i]), self._post)
            for i in range(method.graph.nodes)
        ]
        tape, played = self.tape, slice(0, int(self.tape.upto(step)))
        ended = tape.kind[played] == Kind.GRADIENT
        self._numbers = np.bincount(tape.node[played][ended], minlength=tape.nodes).astype(np.int64)
        self._last = np.zeros(tape.nodes, dtype=np.int64)
        acted = tape.kind[played] != Kind.DELIVER
        np.maximum.at(self._last, tape.node[played][acted], tape.time[played][acted])
        met = tape.kind[played] == Kind.PAIR
        np.maximum.at(self._last, tape.peer[played][met], tape.time[played][met])
        rest = tape.kind == Kind.DELIVER
        rest[played] = False
        self._due = Counter(zip(tape.peer[rest].tolist(), tape.number[rest].tolist(), strict=True))
        self._skipped = Counter(map(tuple, tape.skipped.tolist()))  # those that newer ones replace before they leave
        self._gradients: Tensor | None = None
        self._known = np.zeros(tape.nodes, dtype=bool)
        self._one_by_one = False
        self._under_way: dict[tuple[int, int], Tensor | None] = {}  # None: the sender sent nothing
        self._begun: Tensor | None = None
        if step:
            self._unpack((len(setting.seeds), tape.nodes, layout.size))

    def play(self, state: Any, t: int) -> Any:
        """Play the events of step t and return the state, which is changed in place."""
        tape, nodes, method = self.tape, self._nodes, self._method
        if self._begun is None:
            self._begun = state.x.clone()
        low, high = (int(row) for row in tape.upto(np.array([t, t + 1])))
        columns = (tape.time, tape.kind, tape.node, tape.peer, tape.number)
        for time, kind, i, j, number in zip(*(column[low:high].tolist() for column in columns), strict=True):
            node = nodes[i]
            node.t = t
            if kind == Kind.DELIVER:
                if (payload := self._take(j, number)) is not None:
                    method.on_message(state, node, j, *payload.split(self._widths, dim=-1))
                continue
            node.since = (time - int(self._last[i])) / tape.unit
            self._last[i] = time
            if kind == Kind.PAIR:
                other = nodes[j]
                other.t, other.since = t, (time - int(self._last[j])) / tape.unit
                self._last[j] = time
                method.on_pair(state, node, other)
                for _ in range(2):
                    self._costs.message(self._widths, 1)
                continue
            node.number = number
            g = self._gradient(i)
            self._sender = node if self._sends else None
            if self._due[i, number]:
                self._under_way[i, number] = None
            method.on_gradient(state, node, g)
            self._sender = None
            self._begun[node.at] = state.x[node.at]
            self._numbers[i], self._known[i] = number + 1, False
            self._costs.node_gradient()
        return state

    def facts(self, t: int, replicas: int) -> dict[str, np.ndarray]:
        """Return the columns that the tape determines, after t steps, (R,) each."""
        return {name: np.full(replicas, value) for name, value in self.tape.summary(t).items()}

    def _gradient(self, i: int) -> Tensor:
        """Return the gradient of node i that was begun last, (R, 1, P)."""
        assert self._begun is not None
        if self._one_by_one:
            return self._problem.grad(self._begun, int(self._numbers[i]))[:, i : i + 1]
        if not self._known[i]:
            try:
                self._gradients = self._problem.grad(self._begun.clone(), NodeSamples(self._numbers.copy()))  # type: ignore[arg-type]
            except NotPerNode:
                self._one_by_one = True
                return self._gradient(i)
            self._known[:] = True
        assert self._gradients is not None
        return self._gradients[:, i : i + 1]

    def _post(self, node: Node, tensors: tuple[Tensor, ...]) -> None:
        if self._sender is not node:
            where = "in on_gradient, once" if self._sends else "in no event: nodes that meet exchange in on_pair"
            raise UserError(
                f"A method with events={self._method.properties.events!r} may call node.send {where}, but "
                f"{self._method.properties.name} calls it elsewhere or twice."
            )
        self._sender = None
        if self._sends_after and not self._sends_after(np.array([node.number]))[0]:
            name = self._method.properties.name
            raise UserError(f"{name} sends after gradient {node.number}, but its sends_after says that it does not.")
        widths = tuple(tensor.shape[-1] for tensor in tensors)
        if widths != self._widths:
            name, size = self._method.properties.name, self._problem.layout.size
            raise UserError(
                f"{name} sends tensors of widths {widths} with P={size}, but declares "
                f"vectors_per_step={self._method.properties.vectors_per_step:g} and "
                f"scalars_per_step={self._method.properties.scalars_per_step:g}: vectors first, then scalars."
            )
        self._costs.message(widths, len(node.receivers) - self._skipped[node.i, node.number])
        if self._due[node.i, node.number]:
            self._under_way[node.i, node.number] = torch.cat(tensors, dim=-1).clone()

    def _take(self, sender: int, number: int) -> Tensor | None:
        """Return a message that arrives; None if the sender sent none after that gradient."""
        self._due[sender, number] -= 1
        payload = self._under_way.get((sender, number))
        if not self._due[sender, number]:
            self._under_way.pop((sender, number), None)
        return payload

    def kept(self) -> dict[str, Tensor]:
        """Return the points of the running gradients, (R, n, P), and the messages under way, (R, n, m, 1 + q).

        The first number of a message is its age: how many gradients of its sender have ended since, itself included.
        It is 0 in an empty place, and negative if the sender sent nothing after that gradient.
        """
        if self._begun is None:
            return {}
        ages: list[list[int]] = [[] for _ in range(self.tape.nodes)]
        for sender, number in sorted(self._under_way):
            ages[sender].append(int(self._numbers[sender]) - number)
        messages = self._begun.new_zeros(*self._begun.shape[:2], max(map(len, ages)), 1 + sum(self._widths))
        for i, own in enumerate(ages):
            for place, age in enumerate(own):
                payload = self._under_way[i, int(self._numbers[i]) - age]
                messages[:, i, place, 0] = age if payload is not None else -age
                if payload is not None:
                    messages[:, i, place, 1:] = payload[:, 0]
        return {BEGUN: self._begun.clone(), UNDER_WAY: messages}

    def restore(self, kept: Mapping[str, Tensor]) -> None:
        self._restored = kept

    def _unpack(self, shape: tuple[int, ...]) -> None:
        """Take over what ``kept`` returned, if it belongs to this tape."""
        begun, messages = self._restored.get(BEGUN), self._restored.get(UNDER_WAY)
        wanted = {BEGUN: shape, UNDER_WAY: (*shape[:2], 1 + sum(self._widths))}
        if (
            begun is None
            or messages is None
            or begun.shape != shape
            or messages.ndim != 4
            or (*messages.shape[:2], messages.shape[3]) != wanted[UNDER_WAY]
            or not torch.isfinite(messages[..., 0]).all()
            or not (messages[..., 0] == messages[:1, ..., 0]).all()
        ):
            found = {name: tuple(value.shape) for name, value in self._restored.items()}
            raise Misfit(f"The checkpoint has other messages under way: shapes {found}, expected {wanted}.")
        self._begun = begun.clone()
        for i, place in torch.nonzero(messages[0, :, :, 0]).tolist():
            age = int(messages[0, i, place, 0])
            payload = messages[:, i : i + 1, place, 1:].clone() if age > 0 else None
            self._under_way[i, int(self._numbers[i]) - abs(age)] = payload
        due = {(i, number) for (i, number), times in self._due.items() if times and number < self._numbers[i]}
        if other := sorted(self._under_way.keys() ^ due):
            i, number = other[0]
            has, lacks = ("tape", "checkpoint") if other[0] in due else ("checkpoint", "tape")
            raise Misfit(f"The {has} has message {number} of node {i} under way, but the {lacks} does not.")


def _widths(method: Asynchronous, size: int) -> tuple[int, ...]:
    declared = method.properties
    return (*[size] * int(declared.vectors_per_step), *[1] * int(declared.scalars_per_step))
