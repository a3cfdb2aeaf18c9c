"""The methods that compress equal their rules with every compressor, and wrong versions do not."""

from functools import cache

import numpy as np
import pytest
import torch

from bench.base.registry import algorithms, compressors
from bench.contracts.simulate import simulate
from bench.network.mixing import build_mixing
from tests.algorithms.compressed_mutants import COPIES, MUTANTS
from tests.algorithms.literal import LAYOUT, OPTIONS, RULES
from tests.algorithms.literal.compressed import sent_by
from tests.helpers import noisy

T, SEED = 12, 3
COMPRESSORS = {"top_k": {"k": 2}, "random_k": {"k": 2}, "qsgd": {"levels": 4}, "sign": {}}
CASES = [*((name,) for name in COPIES), ("choco", ("order", "overlapped"))]
W = build_mixing("ring", noisy.N).matrices[0]


def made(compressor: str):
    return compressors[compressor](**COMPRESSORS[compressor])


@cache
def literal(name: str, compressor: str, *variant: tuple[str, str]) -> np.ndarray:
    options = {**OPTIONS[name], **dict(variant), "C": sent_by(made(compressor), SEED)}
    return np.stack(RULES[name](noisy.START, W, noisy.G, "constant", T, options))


def difference(cls, name: str, compressor: str, *variant: tuple[str, str]) -> float:
    """The largest relative difference over all steps between the suite and the literal rule."""
    given, x = {"schedule": "constant", **OPTIONS[name], **dict(variant)}, noisy.start()
    sent = {"seeds": [SEED], "compressor": made(compressor)}
    ours = simulate(cls, torch.as_tensor(W), noisy.gradient, x, T, given, layout=LAYOUT, **sent).x()[:, 0].numpy()
    theirs = literal(name, compressor, *variant)
    assert np.isfinite(theirs).all()
    return float((np.abs(ours - theirs) / np.abs(theirs).max((1, 2), keepdims=True)).max())


@pytest.mark.parametrize("compressor", COMPRESSORS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_equals_the_literal_rule(case, compressor):
    name, *variant = case
    assert difference(algorithms[name], name, compressor, *variant) <= 1e-12


@pytest.mark.parametrize("compressor", COMPRESSORS)
@pytest.mark.parametrize("mutant", MUTANTS, ids="-".join)
def test_every_compressor_shows_a_wrong_copy(mutant, compressor):
    assert difference(MUTANTS[mutant], mutant[0], compressor) > 1e-3


@pytest.mark.parametrize("mutant", MUTANTS, ids="-".join)
def test_without_a_compressor_none_is_noticed(mutant):
    name = mutant[0]
    runs = [
        simulate(cls, torch.as_tensor(W), noisy.gradient, noisy.start(), T, OPTIONS[name], layout=LAYOUT).x()
        for cls in (algorithms[name], MUTANTS[mutant])
    ]
    assert torch.allclose(*runs, rtol=0, atol=1e-12)
