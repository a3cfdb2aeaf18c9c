"""What a plug-in's own tests use: simulate, and one pytest test for each check."""

import numpy as np
import pytest
import torch

from bench.base.registry import algorithms
from bench.contracts import CheckFailed, parametrize_with_checks, simulate
from bench.contracts.methods import CHECKS
from tests.bench.contracts.mistakes import Right


@parametrize_with_checks([Right])
def test_each_check_is_a_test(method, check):
    check(method)


def test_a_broken_method_fails_and_what_it_does_not_declare_is_skipped():
    class Ascends(Right):
        def step(self, s, t, grad, mix):
            return super().step(s, t, lambda x, number: -grad(x, number), mix)

    (_, cases) = parametrize_with_checks([Ascends]).mark.args
    assert [case.id for case in cases] == [f"Ascends-{check.__name__}" for check in CHECKS]
    found = {}
    for case in (case for case in cases if case.id.endswith(("-descent", "-bound", "-shapes"))):
        method, check = case.values
        try:
            check(method)
        except CheckFailed:
            found[check.__name__] = "fails"
        except pytest.skip.Exception:
            found[check.__name__] = "skipped"
    assert found == {"descent": "fails", "bound": "skipped"}


def test_simulate_is_the_rule_of_dsgd():
    rng = np.random.default_rng(0)
    w, x, center = np.full((4, 4), 0.2) + 0.2 * np.eye(4), rng.standard_normal((4, 3)), rng.standard_normal((4, 3))
    options = {"eta": 0.1, "schedule": "constant"}

    def gradient(x, s, stream):
        return x - torch.as_tensor(center)

    trace = simulate(algorithms["dsgd"], torch.as_tensor(w), gradient, torch.as_tensor(x)[None], 5, options)
    expected = [x]
    for _ in range(5):
        expected.append(w @ (expected[-1] - 0.1 * (expected[-1] - center)))
    assert trace.x()[:, 0].numpy() == pytest.approx(np.stack(expected), rel=0, abs=1e-14)
