"""A forward and a backward pass, traced once for tensors of one shape and then replayed.

The overhead of vmap and autograd in each call is several times the computation of a small model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, fx
from torch.func import vjp
from torch.fx.experimental.proxy_tensor import make_fx
from torch.overrides import TorchFunctionMode

Function = Callable[[Tensor, Tensor], Tensor]
"""From parameters (M, P) and inputs (M, B, …) to outputs."""


class Traced:
    """A function as two programs, the forward and the backward pass."""

    def __init__(self, function: Function, x: Tensor, inputs: Tensor) -> None:
        def both(x: Tensor, inputs: Tensor, delta: Tensor) -> tuple[Tensor, Tensor]:
            out, pull, *_ = vjp(lambda p: function(p, inputs), x)
            return out, pull(delta)[0]

        with torch.inference_mode(False), torch.no_grad():
            x, inputs = x.clone(), _kept_strides(inputs)
            delta = torch.zeros_like(function(x, inputs))
            with _NoReplacement():
                joint = make_fx(both)(x, inputs, delta)
        _shorten(joint.graph)
        self._there, self._back = _split(joint)

    def __call__(self, x: Tensor, inputs: Tensor) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
        out, *kept = self._there(x, inputs)
        return out, lambda delta: self._back(*kept, delta.contiguous())  # as when it was traced


class _NoReplacement(TorchFunctionMode):
    """Raise ``RuntimeError`` if a tensor gets other data, as in ``module.to``: in a trace, this ends the process."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func == Tensor.data.__set__:  # type: ignore[attr-defined]
            raise RuntimeError("A trace cannot replace the data of a tensor.")
        return func(*args, **(kwargs or {}))


def _kept_strides(inputs: Tensor) -> Tensor:
    """Return a copy with the same strides, so that the trace fits them. Inputs shared by all models stay shared."""
    if inputs.dim() and inputs.stride(0) == 0:
        return inputs[:1].clone().expand(inputs.shape)
    like = torch.empty_strided(inputs.shape, inputs.stride(), dtype=inputs.dtype, device=inputs.device)
    return like.copy_(inputs)  # a clone would have other strides


SAME_SHAPE = {torch.ops.aten.view.default, torch.ops.aten._unsafe_view.default, torch.ops.aten.expand.default}
"""Operations that do nothing if the shape stays the same."""


def _shorten(graph: fx.Graph) -> None:
    """Remove operations without effect, which cost small models time, unless the graph has in-place operations."""
    if any(str(node.target).partition(".")[2].partition(".")[0].endswith("_") for node in graph.nodes):
        return
    for node in list(graph.nodes):
        if node.op != "call_function":
            continue
        first = node.args[0]
        stays = node.target in SAME_SHAPE and node.meta["val"].shape == first.meta["val"].shape
        if stays or (node.target is torch.ops.aten.mul.Scalar and node.args[1] == 1):
            node.replace_all_uses_with(first)
            graph.erase_node(node)


def _split(joint: fx.GraphModule) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Split into the forward pass, which also returns the tensors needed later, and the backward pass."""
    nodes = list(joint.graph.nodes)
    *_, delta = (node for node in nodes if node.op == "placeholder")
    (results,) = next(node for node in nodes if node.op == "output").args
    late = {delta}
    for node in nodes:
        if node.op != "output" and any(arg in late for arg in node.all_input_nodes):
            late.add(node)
    middle = [node for node in nodes if node not in late and node.op != "output"]
    needed = dict.fromkeys(arg for node in nodes if node in late for arg in node.all_input_nodes if arg not in late)
    if results[1] not in late:  # the gradient does not depend on delta
        needed[results[1]] = None
    there, back = fx.Graph(), fx.Graph()
    known: dict[fx.Node, fx.Node] = {}
    for node in middle:
        known[node] = there.node_copy(node, lambda arg: known[arg])
    there.output((known[results[0]], *(known[node] for node in needed)))
    later = {node: back.placeholder(f"kept_{number}") for number, node in enumerate(needed)}
    later[delta] = back.placeholder("delta")
    for node in nodes:
        if node in late and node is not delta:
            later[node] = back.node_copy(node, lambda arg: later[arg])
    back.output(later[results[1]])
    for graph in (there, back):
        graph.eliminate_dead_code()
    return fx.GraphModule(joint, there), fx.GraphModule(joint, back)
