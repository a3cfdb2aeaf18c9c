"""Which eigenvalues of W a method stands: along an eigenvector, without gradients, its states follow a small matrix."""

import numpy as np
import pytest
import torch

from bench.base.errors import UserError
from bench.base.registry import algorithms
from bench.contracts.simulate import simulate
from bench.network.mixing import Mixing
from tests.helpers.synchronous import SYNCHRONOUS

APART = torch.tensor([[[1.0], [-1.0]]], dtype=torch.float64)


def two_nodes(eigenvalue: float) -> torch.Tensor:
    """W with this eigenvalue beside the 1."""
    return torch.tensor([[1 + eigenvalue, 1 - eigenvalue], [1 - eigenvalue, 1 + eigenvalue]], dtype=torch.float64) / 2


def nothing(x, s, stream):
    return torch.zeros_like(x)


def mode(name: str, options: dict, eigenvalue: float, heads: bool) -> np.ndarray:
    """How a step takes the states of a disagreement on; ``heads`` is what every coin shows."""
    cls, columns = algorithms[name], []
    fields = simulate(cls, two_nodes(eigenvalue), nothing, 0 * APART, 0, options).states[0]._fields
    for field in fields:

        class One(cls):
            def start(self, x, grad, mix, field=field):
                return super().start(x, grad, mix)._replace(**{field: APART})

            def coin(self, t, p):
                return torch.tensor([[[heads]]])

        after = simulate(One, two_nodes(eigenvalue), nothing, 0 * APART, 1, options).states[-1]
        columns.append([float(value[0, 0, 0]) for value in after])
    return np.array(columns).T


def radius(name: str, options: dict, eigenvalue: float) -> float:
    """Of E[M ⊗ M]: whether what chance adds in every step dies out in the mean square."""
    p = options.get("p", 1.0)
    cases = [(p, True)] + [(1 - p, False)] * (p < 1)
    second = sum(chance * np.kron(m, m) for chance, heads in cases for m in [mode(name, options, eigenvalue, heads)])
    return float(np.abs(np.linalg.eigvals(second)).max())


BOUNDS = [("d2", {}), ("edm", {"beta": 0.0}), ("edm", {"beta": 0.9})]
BOUNDS += [("led", {"local_steps": k, "b": b}) for k, b in ((1, None), (5, None), (5, 0.1), (5, 0.3), (2, 0.95))]
BOUNDS += [("proxskip", {"p": p, "c": c}) for p in (0.1, 0.5, 1.0) for c in (0.6, 0.8, 1.0)]


@pytest.mark.parametrize(("name", "options"), BOUNDS, ids=str)
def test_what_is_declared_is_where_noise_begins_to_grow(name, options):
    bound = algorithms[name].declare_for(options).lambda_min
    if bound is None:
        assert all(radius(name, options, value) < 1 for value in (-0.999, -0.5, 0.0, 0.5, 0.999))
        return
    assert -1 <= bound < 1
    assert radius(name, options, bound - 1e-3) > 1
    assert all(radius(name, options, value) < 1 for value in np.linspace(bound + 1e-3, 0.999, 4))


def served(name: str, eigenvalue: float) -> bool:
    try:
        Mixing(two_nodes(eigenvalue).numpy()[None], "two nodes").must_serve(algorithms[name].declare_for({}))
    except UserError:
        return False
    return True


def left(name: str, eigenvalues: list[float], options: dict) -> torch.Tensor:
    """A disagreement of 1 after 0, 1, … steps, with each eigenvalue."""
    w, x = torch.stack([two_nodes(value) for value in eigenvalues]), APART.expand(len(eigenvalues), -1, -1)
    return simulate(algorithms[name], w, nothing, x, 300, {"schedule": "constant", **options}).x()[:, :, 0, 0].abs()


STANDING = [
    name
    for name in SYNCHRONOUS
    if not (name == "qg_dsgdm" or algorithms[name].properties.common_start)
    and any(served(name, value) for value in (-0.98, 0.8))
]


@pytest.mark.parametrize("name", STANDING)
def test_on_a_network_that_is_not_refused_disagreement_dies_out(name):
    x = left(name, [value for value in (-0.98, 0.8) if served(name, value)], {})
    assert x.max() <= 2
    assert x[-1].max() < 0.1


@pytest.mark.parametrize("nesterov", [False, True])
def test_qg_dsgdm_does_not_stand_eigenvalues_near_minus_one(nesterov):
    """−(1+μ)/(1 + μ + 2(1−μ)β), with β² in the place of β for nesterov: −0.91 for what its authors take."""
    mu, beta = 0.6, 0.8
    bound = -(1 + mu) / (1 + mu + 2 * (1 - mu) * (beta**2 if nesterov else beta))
    options = {"mu": mu, "beta": beta, "nesterov": nesterov}
    above, below = left("qg_dsgdm", [bound + 0.03, bound - 0.03], options)[-1]
    assert above < 0.1
    assert below > 10
