"""Any ``torch.nn.Module`` as a model, computed for M parameter vectors at once."""

from __future__ import annotations

import inspect
import random
import re
import typing
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import vmap
from torch.nn.modules.dropout import _DropoutNd

from bench.base.errors import UserError
from bench.base.layout import Layout
from bench.base.registry import models
from bench.models.measured import floats_per_sample
from bench.models.model import Model, Pullback, model
from bench.models.target import arguments, files_of, found
from bench.models.trainable import called, other_names, refuse_unregistered, without_gradient


class Wrapped(Model):
    """A module that initializes itself under the run's seed and computes in evaluation mode, with constant buffers."""

    def __init__(self, name: str, make: Callable[[], nn.Module]) -> None:
        self._make, self._name = make, name
        self.module = made = self._made(0)
        if not isinstance(made, nn.Module):
            raise UserError(f"{name} must create a torch.nn.Module; it created a {type(made).__name__}.")
        if kind := next((p.dtype for p in made.parameters() if p.is_complex() and p.requires_grad), None):
            raise UserError(f"{name} has trainable parameters of type {kind}. They must be real numbers.")
        again = _tensors(self._made(0))
        if other := next((key for key, p in _tensors(made).items() if not _same(p, again.get(key))), None):
            raise UserError(f"{name} creates another '{other}' each time. {NO_OWN_SEED}")
        self.layout = Layout({key: tuple(p.shape) for key, p in made.named_parameters() if p.requires_grad})
        if not self.layout.size:
            raise UserError(f"{name} has no trainable parameters.")
        made.requires_grad_(False).eval()
        self.batched, self._tied = True, other_names(made)
        self._fixed: dict[tuple[torch.dtype, torch.device], dict[str, Tensor]] = {}

    def forward(self, p: Mapping[str, Tensor], x: Tensor) -> Tensor:
        fixed = self._constants(next(iter(p.values())))

        def one(params: dict[str, Tensor], batch: Tensor) -> Tensor:
            return called(self.module, {**fixed, **params}, self._tied, batch)

        if not self.batched:
            with torch.backends.cudnn.flags(enabled=False):  # the LSTM of cuDNN has no gradient in evaluation mode
                return torch.stack([one({name: part[i] for name, part in p.items()}, x[i]) for i in range(len(x))])
        if len(x) == 1:
            return one({name: part[0] for name, part in p.items()}, x[0]).unsqueeze(0)
        out: Tensor = vmap(one)(dict(p), x)
        return out

    def linearize(self, x: Tensor, inputs: Tensor) -> tuple[Tensor, Pullback]:
        return super().linearize(x, inputs) if self.batched else self._differentiated(x, inputs)

    def initial(self, g: np.random.Generator) -> np.ndarray:
        parts = self._made(int(g.integers(1 << 63))).parameters()
        return torch.cat([p.detach().double().flatten() for p in parts if p.requires_grad]).numpy()

    def _made(self, seed: int) -> nn.Module:
        with keyed(seed):
            return self._make()

    def constants(self) -> dict[str, Tensor]:
        """Return buffers and frozen parameters, which are the same for every seed."""
        return {name: value for name, value in _tensors(self.module).items() if name not in self.layout.shapes}

    def refuse(self, x: Tensor) -> None:
        """Raise ``UserError`` if f would not be a mean over samples, or not deterministic."""
        with keyed(1):
            refuse_unregistered(self._name, lambda: self._made(0), x)
        module, remedy = self.module.double(), NO_BATCH_NORM
        embeds = any(isinstance(part, nn.Embedding | nn.EmbeddingBag) for part in module.modules())
        before = {key: value.clone() for key, value in module.named_buffers()}
        with torch.no_grad(), keyed(1):
            module.train()
            try:
                trained = module(x)
            except RuntimeError as error:
                if embeds and x.is_floating_point() and "indices" in str(error):
                    raise UserError(f"{self._name} {NO_TOKENS}") from error
                raise
            changed = [key for key, value in module.named_buffers() if not torch.equal(value, before[key])]
            module.eval()
            if changed:
                raise UserError(f"{self._name} changes its buffer '{changed[0]}' in training. {remedy}")
            together, again, twice = module(x), module(x), module(x[[0, 0]])
            made_again = self._made(0).double().eval()(x)
        if not isinstance(together, Tensor):
            raise UserError(f"{self._name} must return one tensor; it returned a {type(together).__name__}.")
        if not _near(together, again, EXACT):
            raise UserError(f"{self._name} is random in eval mode. Its forward must be deterministic.")
        if not _near(together, made_again, EXACT):
            raise UserError(f"{self._name} gives other outputs each time it is created. {NO_OWN_SEED}")
        if together.shape[:1] == x.shape[:1]:
            if not torch.allclose(together[:1], twice[:1], rtol=1e-6, atol=1e-9):
                raise UserError(
                    f"In {self._name}, the output for an input depends on the other inputs of the batch. {remedy}"
                )
            with torch.no_grad():
                alone, turned = module(x[:1]), module(x.flip(0)).flip(0)
            if not _near(together[:1], alone) or not _near(together, turned):
                raise UserError(
                    f"In {self._name}, the output for an input depends on the size of the batch or on the place of the "
                    "input in it. Compute every input independently of the batch."
                )
        self.floats = floats_per_sample(module, x[:1])
        slow = self._not_batched(x)
        drops = any(isinstance(part, _DropoutNd) and part.p > 0 for part in module.modules())
        drops = drops or not torch.allclose(trained, together, rtol=1e-6, atol=1e-9, equal_nan=True)
        idle = without_gradient(module, self.layout.shapes, x) if self.batched else []  # others may branch on values
        notes = [ONE_BY_ONE.format(reason=slow)] * bool(slow) + [NO_DROPOUT] * drops
        notes += [NO_GRADIENT.format(names=", ".join(idle[:4]) + ", …" * (len(idle) > 4))] * bool(idle)
        self.notes = tuple(f"{self._name} {line}" for line in notes)

    def _not_batched(self, x: Tensor) -> str | None:
        """Return why ``vmap`` cannot compute two nodes at once, forward and backward; None if it can."""
        points = torch.as_tensor(np.stack([self.initial(np.random.default_rng(key)) for key in (0, 1)]))

        def both(batched: bool) -> Tensor:
            self.batched = batched
            out, pull = self._differentiated(points, x.expand(2, *x.shape))
            return torch.cat([out.flatten(), pull(torch.ones_like(out)).flatten()])

        apart, reason = both(False), "the results differ"
        try:
            self.batched = torch.allclose(apart, both(True), rtol=1e-6, atol=1e-9, equal_nan=True)
        except Exception as error:  # vmap raises many kinds of errors
            self.batched, reason = False, re.split(r"\n|\. ", str(error))[0][:120]
        return None if self.batched else reason

    def _constants(self, like: Tensor) -> dict[str, Tensor]:
        """Return buffers and frozen parameters, in the dtype and on the device of the parameters."""
        key = like.dtype, like.device
        if key not in self._fixed:
            self._fixed[key] = {
                name: value.to(like) if value.is_floating_point() else value.to(like.device)
                for name, value in self.constants().items()
            }
        return self._fixed[key]


ONE_BY_ONE = "is computed node by node, which is slower, because torch.vmap does not support it ({reason})."
NO_DROPOUT = "has dropout, or another layer that acts only in training. It is disabled, so that f is deterministic."
NO_GRADIENT = (
    "has parameters without a gradient, which are never trained: {names}. Its outputs do not depend on them, or "
    "forward uses them under torch.no_grad or detached."
)
NO_TOKENS = (
    "has an Embedding, which needs integers, but the inputs of this dataset are real numbers. Use a dataset of tokens "
    "(dataset=mobydick), or call .long() in forward."
)
NO_OWN_SEED = (
    "All processes must start with the same numbers. Draw with torch, np.random or random, without seeds of your own "
    "such as np.random.default_rng()."
)
EXACT = 1e-12  # two copies of an LSTM differ in their last bits on some processors
NO_BATCH_NORM = "Methods do not average batch statistics. Replace BatchNorm by torch.nn.GroupNorm or LayerNorm."


@contextmanager
def keyed(seed: int) -> Iterator[None]:
    """Seed torch, NumPy and ``random`` inside the context, and restore their states afterwards."""
    states = random.getstate(), np.random.get_state()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        random.seed(seed)
        np.random.seed([seed & 0xFFFFFFFF, seed >> 32])  # it takes words of 32 bits
        try:
            yield
        finally:
            random.setstate(states[0])
            np.random.set_state(states[1])


def _tensors(module: nn.Module) -> dict[str, Tensor]:
    """Return the parameters and buffers of a module by name."""
    return {**dict(module.named_parameters()), **dict(module.named_buffers())}


def _same(one: Tensor, other: Tensor | None) -> bool:
    """Return whether two tensors are equal, with NaN equal to NaN."""
    return other is not None and torch.equal(one.nan_to_num(), other.nan_to_num())


def _near(one: Tensor, other: Tensor, part: float = 1e-4) -> bool:
    """Return whether outputs are equal up to a part of them: rounding in float32 depends on the size of the batch."""
    return one.shape == other.shape and torch.allclose(one, other, rtol=0, atol=part * (float(one.abs().max()) + 1e-5))


@model("module")
class Module(Wrapped):
    """A module given by ``target=package.module:Class`` and its arguments ``kwargs``; see ``torch_model``."""

    def __init__(
        self,
        inputs: tuple[int, ...],
        classes: int,
        target: str | None = None,
        kwargs: dict[str, Any] = {},  # noqa: B006 — never modified
    ) -> None:
        if not target:
            raise UserError("model=module needs model.target=package.module:Class.")
        made = found(target)
        given = arguments(made, dict(kwargs), inputs, classes, target)
        super().__init__(f"model.target={target}", lambda: made(**given))

    @classmethod
    def sources(cls, **options: Any) -> list[object]:
        return [found(options["target"]), *files_of(options["target"], options.get("kwargs") or {})]


def torch_model(name: str) -> Callable[[type[nn.Module]], type[nn.Module]]:
    """Register a ``torch.nn.Module`` class as a model. A decorator; arguments of the class with a default are options.

    Args:
        name: The name for ``model=NAME``. The class may take ``inputs`` (shape of one input) and ``classes`` (outputs).

    Example:
        >>> torch_model("net")(Net)  # Net.__init__(self, inputs, classes, width: int = 32) has the option model.width
    """

    def decorate(made: type[nn.Module]) -> type[nn.Module]:
        class Named(Wrapped):
            def __init__(self, inputs: tuple[int, ...], classes: int, **options: Any) -> None:
                given = arguments(made, options, inputs, classes, f"model={name}")
                super().__init__(f"model={name}", lambda: made(**given))

            @classmethod
            def sources(cls, **options: Any) -> list[object]:
                return [made]

        Named.__init__.__signature__ = inspect.signature(made.__init__)  # type: ignore[attr-defined]
        Named.__init__.__annotations__ = typing.get_type_hints(made.__init__, include_extras=True)
        for key in ("__name__", "__qualname__", "__module__", "__doc__"):
            setattr(Named, key, getattr(made, key))
        models.add(name, Named)
        return made

    return decorate
