"""Tensors of a module that training would miss."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from itertools import chain

import torch
from torch import Tensor, nn
from torch.func import functional_call

from bench.base.errors import UserError


def refuse_unregistered(name: str, make: Callable[[], nn.Module], x: Tensor) -> None:
    """Raise ``UserError`` if outputs for inputs x depend on a tensor with ``requires_grad`` that is no parameter."""
    if (leaf := unregistered(make, x)) is not None:
        raise UserError(
            f"{name} has a trainable tensor of shape {tuple(leaf.shape)} that is not registered as a parameter, so it "
            "would never be trained. Use nn.ModuleList, nn.ParameterList or self.register_parameter, or call "
            "requires_grad_(False) if it is a constant."
        )


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


def without_gradient(module: nn.Module, names: Iterable[str], x: Tensor) -> list[str]:
    """Return those of the named parameters for which autograd has no gradient of the outputs for inputs x."""
    every = dict(module.named_parameters())
    with torch.inference_mode(False), torch.enable_grad():
        params = {name: every[name].detach().clone().requires_grad_() for name in names}
        out = called(module, params, other_names(module), x.clone())
        parts = torch.autograd.grad(out.sum(), list(params.values()), allow_unused=True)
    return [name for name, part in zip(params, parts, strict=True) if part is None]


def other_names(module: nn.Module) -> dict[str, str]:
    """Return the names that tensors have in further submodules, each with the name in ``named_parameters()``."""
    first: dict[int, str] = {}
    out = {}
    for path, part in module.named_modules():  # each submodule once, also if it has two names
        for key, tensor in chain(part._parameters.items(), part._buffers.items()):
            if tensor is None:
                continue
            name = f"{path}.{key}" if path else key
            if first.setdefault(id(tensor), name) != name:
                out[name] = first[id(tensor)]
    return out


def called(module: nn.Module, tensors: Mapping[str, Tensor], tied: Mapping[str, str], x: Tensor) -> Tensor:
    """Return the outputs with these parameters and buffers; ``tied`` are their ``other_names``.

    With ties of its own, ``functional_call`` leaves the tensors in submodules that have two names.
    """
    every = {**tensors, **{name: tensors[first] for name, first in tied.items() if first in tensors}}
    out: Tensor = functional_call(module, every, (x,), tie_weights=False)
    return out


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
