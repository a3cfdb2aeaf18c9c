"""Checks of compressors, with every combination of their options and for vectors of several sizes."""

from __future__ import annotations

import itertools
import typing
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from bench.base.errors import UserError
from bench.base.options import attribute_options
from bench.base.randomness import generator
from bench.contracts.fixtures import CheckFailed, must
from bench.network.compressor import Compressor, Draws

SIZES = (1, 2, 9, 40, 500)
TRIALS = 200
"""Random draws for the estimate of a mean."""
SIGMAS = 5
"""Standard deviations by which an estimated mean may exceed its bound (chance 1 in 3 million)."""


def keyed(seed: int, first: int = 0) -> Draws:
    return lambda row: generator(seed, first + row, "contract of compressors")


def vectors(size: int, dtype: torch.dtype = torch.float64) -> Tensor:
    """Return rows of different kinds: normal, of many scales, a single entry, signs, mostly zero."""
    g = torch.Generator().manual_seed(size)
    normal = torch.randn(4, size, generator=g, dtype=torch.float64)
    spike, sparse = torch.zeros(2, size, dtype=torch.float64)
    spike[-1], sparse[::3] = -3.0, normal[3, ::3]
    return torch.stack([normal[0], normal[1] ** 5, spike, normal[2].sign(), sparse]).to(dtype)


def forms(cls: type[Compressor]) -> Iterator[tuple[str, Compressor]]:
    """Yield the compressor with each combination of its options that are not numbers."""
    choices: dict[str, tuple[Any, ...]] = {
        name: (False, True) if option.type is bool else typing.get_args(option.type)
        for name, option in attribute_options(cls).items()
        if option.type is bool or typing.get_origin(option.type) is Literal
    }
    for values in itertools.product(*choices.values()):
        chosen = dict(zip(choices, values, strict=True))
        yield "".join(f"{name}={value}, " for name, value in chosen.items()), cls(**chosen)


def cases(cls: type[Compressor]) -> Iterator[tuple[str, Compressor, int]]:
    """Yield each form with each size that it accepts, and a description of both."""
    for words, made in forms(cls):
        accepted = []
        for size in SIZES:
            with suppress(UserError):
                made.check(size)
                accepted.append(size)
        must(accepted, f"{words}it rejects vectors of all sizes {', '.join(map(str, SIZES))}")
        yield from ((f"{words}P = {size}", made, size) for size in accepted)


def compressed(made: Compressor, v: Tensor, draws: Draws) -> Tensor:
    with torch.inference_mode():
        return made.unpack(made.pack(v, draws), v.shape[1], v.dtype, draws)


def payloads(cls: type[Compressor]) -> None:
    """payloads are bytes (rows, B), B depends on P and the dtype alone, and C(v) has the shape and dtype of v"""
    for (words, made, size), dtype in itertools.product(cases(cls), (torch.float64, torch.float32)):
        widths = set()
        for seed, v in enumerate((vectors(size, dtype), vectors(size, dtype)[:1], torch.zeros(3, size, dtype=dtype))):
            with torch.inference_mode():
                payload = made.pack(v, keyed(seed))
                must(
                    payload.dtype == torch.uint8 and payload.ndim == 2 and len(payload) == len(v),
                    f"{words}: the payload of v {tuple(v.shape)} is {payload.dtype} {tuple(payload.shape)}",
                )
                widths.add(payload.shape[1])
                c = made.unpack(payload, size, dtype, keyed(seed))
            same = c.shape == v.shape and c.dtype == dtype
            must(same, f"{words}: C(v) is {c.dtype} {tuple(c.shape)}; v is {dtype} {tuple(v.shape)}")
        must(len(widths) == 1, f"{words}: payloads of equal size and dtype have different lengths {sorted(widths)}")


def no_memory(cls: type[Compressor]) -> None:
    """equal v and draws give equal bytes, equal bytes give equal C(v), and v is not modified"""
    for words, made, size in cases(cls):
        v = vectors(size)
        before, receiver = v.clone(), cls(**{name: getattr(made, name) for name in attribute_options(cls)})
        with torch.inference_mode():
            payload, again = (made.pack(v, keyed(1)) for _ in range(2))
            must(torch.equal(v, before), f"{words}: pack modifies v in place")
            bytes_again = f"{words}: pack keeps a state, or does not draw from the given generator"
            must(torch.equal(payload, again), bytes_again)
            message = torch.cat([payload.new_zeros(len(payload), 3), payload], dim=1)[:, 3:]
            here = made.unpack(payload, size, v.dtype, keyed(1))
            there = receiver.unpack(message, size, v.dtype, keyed(1))
            must(torch.equal(here, there), f"{words}: a receiver unpacks another C(v) from the same bytes")


def draws(cls: type[Compressor]) -> None:
    """unpack uses random draws only if shared_draws is declared"""

    def reject(row: int) -> np.random.Generator:
        raise CheckFailed("unpack uses random draws, which the receiver does not have. Declare shared_draws = True")

    for _, made, size in cases(cls):
        if not made.shared_draws:
            with torch.inference_mode():
                made.unpack(made.pack(vectors(size), keyed(1)), size, torch.float64, reject)


def rows(cls: type[Compressor]) -> None:
    """a row is compressed independently of the other rows"""
    for words, made, size in cases(cls):
        v = vectors(size)
        together = compressed(made, v, keyed(1))
        for r in range(len(v)):
            alone = torch.equal(compressed(made, v[r : r + 1], keyed(1, r)), together[r : r + 1])
            must(alone, f"{words}: row {r} of {len(v)} depends on the other rows")


def zero(cls: type[Compressor]) -> None:
    """C(0) = 0"""
    for (words, made, size), dtype in itertools.product(cases(cls), (torch.float64, torch.float32)):
        must((compressed(made, torch.zeros(2, size, dtype=dtype), keyed(1)) == 0).all(), f"{words}: C(0) is not 0")


def nothing_hidden(cls: type[Compressor]) -> None:
    """if v is not finite, C(v) is not finite"""
    for (words, made, size), bad in itertools.product(cases(cls), (float("nan"), float("inf"), -float("inf"))):
        for place in {0, size // 2, size - 1}:
            v = vectors(size)[:1].clone()
            v[0, place] = bad
            hidden = f"{words}: C(v) is finite for v with {bad} at position {place}, which hides that a run diverged"
            must(not compressed(made, v, keyed(1)).isfinite().all(), hidden)


def bounds(cls: type[Compressor]) -> None:
    """E‖C(v) − v‖² ≤ (1 − δ)‖v‖² with δ as declared; or E C(v) = v and E‖C(v) − v‖² ≤ ω‖v‖² with ω as declared"""
    for words, made, size in cases(cls):
        delta, omega = made.delta(size), made.omega(size)
        both = f"{words}: declare one of δ and ω; delta gives {delta}, omega {omega}"
        must((delta is None) != (omega is None), both)
        must(delta is None or 0 < delta <= 1, f"{words}: δ must lie in (0, 1]; delta gives {delta}")
        must(omega is None or omega >= 0, f"{words}: ω must be at least 0; omega gives {omega}")
        v = vectors(size)
        v = v[v.abs().amax(1) > 0]
        v = v / v.norm(dim=1, keepdim=True)
        c = compressed(made, v.repeat(TRIALS, 1), keyed(1)).view(TRIALS, *v.shape)
        error = (c - v).square().sum(2)
        mean, deviation = error.mean(0), error.std(0) / TRIALS**0.5
        bound, letter = (omega, "ω") if omega is not None else (1 - (delta or 0), "(1 − δ)")
        worst = int((mean - SIGMAS * deviation).argmax())
        must(
            (mean <= bound + SIGMAS * deviation + 1e-12).all(),
            f"{words}: E‖C(v) − v‖² is {mean[worst]:.4g} ± {deviation[worst]:.2g} ‖v‖², above {letter}‖v‖² = "
            f"{bound:.4g} ‖v‖²",
        )
        if omega is not None:
            off, allowed = (c.mean(0) - v).norm(dim=1).max().item(), SIGMAS * (omega / TRIALS) ** 0.5 + 1e-12
            biased = f"{words}: biased: ‖E C(v) − v‖ is {off:.3g} ‖v‖, above {allowed:.3g} ‖v‖"
            must(off <= allowed, biased)


CHECKS: tuple[Callable[[type[Compressor]], None], ...] = (
    *(payloads, no_memory, draws, rows, zero, nothing_hidden, bounds),
)
