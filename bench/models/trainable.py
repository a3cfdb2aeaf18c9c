"""Tensors of a module that training would miss."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import torch
from torch import Tensor, nn


def unregistered(make: Callable[[], nn.Module], x: Tensor) -> Tensor | None:
    """Return a tensor with ``requires_grad`` that the outputs depend on, but that is no parameter; None without one.

    Args:
        make: Creates the module.
        x: A few inputs. Floating-point inputs are tried in two precisions, since such a tensor keeps its own.
    """
    for module, dtype in ((make(), torch.get_default_dtype()), (make().double(), torch.float64)):
        inputs = x.to(dtype) if x.is_floating_point() else x
        with suppress(Exception), torch.inference_mode(False), torch.enable_grad():  # other checks report its errors
            module.requires_grad_(False).eval()
            one, other = (_leaves(module(inputs.clone())) for _ in range(2))
            # a tensor that forward itself creates, to differentiate by it, is another one in each call
            if shared := [leaf for leaf in one if any(leaf is again for again in other)]:
                return shared[0]
    return None


def _leaves(out: object) -> list[Tensor]:
    """Return the tensors with ``requires_grad`` from which a tensor is computed."""
    if not isinstance(out, Tensor) or not out.requires_grad:
        return []
    if out.grad_fn is None:
        return [out]
    seen, todo = {}, [out.grad_fn]
    while todo:
        if (node := todo.pop()) not in seen:
            seen[node] = getattr(node, "variable", None)  # only nodes of leaves have one
            todo += [before for before, _ in node.next_functions if before is not None]
    return [leaf for leaf in seen.values() if leaf is not None]
