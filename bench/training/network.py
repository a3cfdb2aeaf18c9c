"""What is behind ``mix``: the rounds of a run, timed, billed, compressed, and only those that the method declared."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bench.base.errors import UserError
from bench.base.randomness import generator
from bench.method.properties import Properties
from bench.network.compressor import Compressor, Draws
from bench.network.mixing import Operator
from bench.training.costs import CostCounter, Stopwatch
from bench.training.hosting import Hosting

DECLARED = {"doubly": ("mix",), "push": ("push",), "pull": ("pull",), "push and pull": ("push", "pull")}


class Network:
    """The network as a method meets it; all of it is done and counted here."""

    step = -1
    """The step that is being made; the start is before the first."""

    def __init__(
        self,
        hosting: Hosting,
        properties: Properties,
        costs: CostCounter,
        clock: Stopwatch,
        seeds: Sequence[int],
        compressor: Compressor | None = None,
        one_way: bool = False,
    ) -> None:
        self._hosting, self._mixer, self._properties = hosting, hosting.mixer, properties
        self._costs, self._clock, self._seeds = costs, clock, seeds
        self._compressor, self._one_way = compressor, one_way
        self._may = DECLARED[properties.mixes]

    def recording(self, costs: Any, clock: Any, step: Any) -> Network:
        """Return this network with other costs, clock and step number, for a step that is captured."""
        out = copy(self)
        out._costs, out._clock, out.step = costs, clock, step
        return out

    def mix(self, tensors: tuple[Tensor, ...], when: Tensor | None = None) -> tuple[Tensor, ...]:
        """W times each, in the replicas where ``when`` is true."""
        self._declared("mix")
        if when is None:
            return self._round(tensors, "mix")
        talks = when.flatten().cpu().numpy()
        mixed = tensors
        if talks.any():
            began = self._clock.begin_round(tensors[0].is_cuda)
            mixed = self._mixer(self._costs.round, self.step, tensors)
            self._clock.end_round(began)
        if talks.any() and not talks.all():
            here = torch.as_tensor(talks, device=tensors[0].device)[:, None, None]
            mixed = tuple(torch.where(here, after, before) for after, before in zip(mixed, tensors, strict=True))
        self._costs.sent(_widths(tensors), self.step, talks)
        return mixed

    def push(self, tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        self._declared("push")
        if self._one_way and self.step < 0:
            raise UserError(
                f"{self._properties.name} pushes before its first step: with links=one_way, what is lost then "
                "would never arrive. Use links=lossy."
            )
        return self._round(tensors, "push")

    def pull(self, tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        self._declared("pull")
        return self._round(tensors, "pull")

    def push_pull(
        self, push: tuple[Tensor, ...], pull: tuple[Tensor, ...]
    ) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """Some pushed and some pulled in one round."""
        self._declared("push")
        self._declared("pull")
        began = self._clock.begin_round(push[0].is_cuda)
        out = self._mixer.both(self._costs.round, self.step, push, pull)
        self._clock.end_round(began)
        self._costs.sent(_widths((*push, *pull)), self.step)
        return out

    def compressed(self, tensors: tuple[Tensor, ...]) -> tuple[tuple[Tensor, Tensor], ...]:
        """For each v the pair C(v), W C(v)."""
        self._declared("mix")
        if self._properties.compresses == "no":
            raise UserError(
                f"{self._properties.name} calls mix.compressed: declare compresses='contractive', or 'any' where "
                "unbiased compressors will do."
            )
        if self._compressor is None:
            mixed = self._round(tensors, "mix")
            return tuple(zip(tensors, mixed, strict=True))
        began = self._clock.begin_round(tensors[0].is_cuda)
        r, hosted = self._costs.round, self._hosting.hosted
        payloads = tuple(self._pack(r, i, v) for i, v in enumerate(tensors))

        def unpack(i: int, payload: Tensor, nodes: Sequence[int]) -> Tensor:
            return self._unpack(r, i, payload, nodes, tensors[i])

        said = tuple(unpack(i, payload, hosted) for i, payload in enumerate(payloads))
        mixed = self._mixer.compressed(r, self.step, payloads, said, unpack)
        self._clock.end_round(began)
        bits = 8 * sum(payload.shape[-1] for payload in payloads)
        self._costs.sent(_widths(tensors), self.step, bits=bits)
        return tuple(zip(said, mixed, strict=True))

    def _round(self, tensors: tuple[Tensor, ...], by: Operator) -> tuple[Tensor, ...]:
        began = self._clock.begin_round(tensors[0].is_cuda)
        mixed = self._mixer(self._costs.round, self.step, tensors, by)
        self._clock.end_round(began)
        self._costs.sent(_widths(tensors), self.step)
        return mixed

    def _declared(self, by: Operator) -> None:
        if by not in self._may:
            word = {"mix": "doubly"}.get(by, by)
            raise UserError(
                f"{self._properties.name} calls mix{'' if by == 'mix' else '.' + by}, and declares "
                f"mixes='{self._properties.mixes}': it must declare mixes='{word}'."
            )

    def _pack(self, r: int, i: int, v: Tensor) -> Tensor:
        assert self._compressor is not None
        payload = self._compressor.pack(v.flatten(0, 1), self._draws(r, i, self._hosting.hosted))
        return payload.view(*v.shape[:2], -1)

    def _unpack(self, r: int, i: int, payload: Tensor, nodes: Sequence[int], like: Tensor) -> Tensor:
        assert self._compressor is not None
        size = like.shape[-1]
        said = self._compressor.unpack(payload.flatten(0, 1), size, like.dtype, self._draws(r, i, nodes))
        return said.view(*payload.shape[:2], size)

    def _draws(self, r: int, i: int, nodes: Sequence[int]) -> Draws:
        def draws(row: int) -> np.random.Generator:
            replica, place = divmod(row, len(nodes))
            return generator(self._seeds[replica], nodes[place], f"compressor {i}", r)

        return draws


def _widths(tensors: tuple[Tensor, ...]) -> tuple[int, ...]:
    return tuple(tensor.shape[-1] for tensor in tensors)
