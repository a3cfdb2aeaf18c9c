"""The stepsize table of the paper, entry by entry."""

import math

import numpy as np
import pytest
import torch

from bench.base.registry import algorithms
from bench.method.schedules import stepsize_tables

N, T = 8, 100


def values(name: str, kind: str, **options) -> dict[str, np.ndarray]:
    cls = algorithms[name]
    given = {k: o.default for k, o in cls.stepsize_options().items()} | {"schedule": kind} | options
    return {k: s.values[:, 0] for k, s in stepsize_tables(cls.stepsizes, [given], N, T, torch.float64).items()}


@pytest.mark.parametrize("name", ["dsgd", "dsgt", "d2"])
def test_baselines(name):
    diminishing = values(name, "diminishing", eta=0.5)["eta"]
    assert diminishing[0] == 0
    assert diminishing[1] == pytest.approx(0.5 * math.sqrt(8))
    assert diminishing[50] == pytest.approx(0.5 * math.sqrt(8 / 50))
    assert values(name, "fixed", eta=0.5)["eta"] == pytest.approx(np.full(T, 0.5 * math.sqrt(8 / 100)))
    assert values(name, "constant", eta=0.5)["eta"] == pytest.approx(np.full(T, 0.5))


def test_dasagt():
    diminishing = values("dasagt", "diminishing", eta=2.0)
    assert diminishing["eta"][0] == diminishing["alpha"][0] == 0
    assert diminishing["eta"][4] == pytest.approx(2 * math.sqrt(2))
    assert diminishing["alpha"][4] == 0.3
    assert diminishing["alpha"][99] == pytest.approx(math.sqrt(8 / 99))
    fixed = values("dasagt", "fixed", eta=2.0)
    assert fixed["eta"] == pytest.approx(np.full(T, 2.0))
    assert fixed["alpha"] == pytest.approx(np.full(T, math.sqrt(8 / 100)))
    assert values("dasagt", "constant", alpha=0.7)["alpha"] == pytest.approx(np.full(T, 0.7))


def test_dnasa():
    diminishing = values("dnasa", "diminishing")
    assert diminishing["eta"][0] == diminishing["alpha"][0] == 0
    assert diminishing["alpha"][1:8] == pytest.approx(np.ones(7))  # √(n/t) > 1 while t < n
    assert diminishing["alpha"][32] == pytest.approx(0.5)
    assert diminishing["eta"][16] == pytest.approx(8**0.25 / 8)
    fixed = values("dnasa", "fixed")
    assert fixed["eta"] == pytest.approx(np.full(T, 8**0.25 / 100**0.75))
    assert fixed["alpha"] == pytest.approx(np.full(T, math.sqrt(0.08)))
    assert values("dnasa", "fixed", multiplier=3.0)["eta"] == pytest.approx(3 * fixed["eta"])


def test_a_table_broadcasts_over_replicas():
    cls = algorithms["dsgd"]
    replicas = [{"schedule": "constant", "eta": 1.0}, {"schedule": "fixed", "eta": 2.0}]
    eta = stepsize_tables(cls.stepsizes, replicas, N, T, torch.float32)["eta"]
    assert eta[3].shape == (2, 1, 1)
    assert eta[3].dtype == torch.float32
    assert eta[3].flatten().tolist() == pytest.approx([1.0, 2 * math.sqrt(0.08)])
