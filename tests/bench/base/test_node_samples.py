"""Every node of an asynchronous run uses the sample of its own number."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from bench.base.node_samples import NodeSamples, NotPerNode
from bench.build.build import build_problem
from bench.problem.setting import Setting
from tests.helpers.configs import config
from tests.helpers.few import few

PROBLEMS = [
    {"dataset": {"name": "quadratics", "dimension": 3, "noise": 0.5}},
    {"dataset": {"name": "synthetic", "dimension": 4, "evaluation": 50}},
    {"dataset": "digits"},
    {"dataset": "digits", "sampling": "epochs"},
    {"dataset": "digits", "scale": 0.5, "partition": {"name": "dirichlet", "alpha": 1.0}},
]


@pytest.mark.parametrize("changes", few(PROBLEMS, PROBLEMS[:2]))
def test_gradients_are_those_of_every_node_alone(changes):
    c = replace(config(**{**changes, "nodes": 4}), batch_size=4)
    problem = build_problem(c, Setting(4, range(4), (0, 3), 4, torch.float64, torch.device("cpu")))
    x = problem.start() + torch.randn(problem.start().shape, generator=torch.Generator().manual_seed(0)).double() / 9
    for numbers in ([0, 0, 0, 0], [3, 0, 7, 1], [40, 2500, 5, 700]):
        try:
            together = problem.grad(x, NodeSamples(np.array(numbers)))
        except NotPerNode:  # then the engine asks for one number at a time
            assert changes.get("sampling") == "epochs"
            return
        for i, number in enumerate(numbers):
            alone = problem.grad(x, number)[:, i]
            torch.testing.assert_close(together[:, i], alone, rtol=1e-12, atol=1e-14)
            other = problem.grad(x, number + 1)[:, i]
            assert not torch.allclose(other, alone, rtol=1e-6)
