"""Accelerated gossip: what it keeps of a disagreement, number by number, and which networks it is refused on."""

import pkgutil

import numpy as np
import pytest
import torch

import algorithms as package
from bench.base.errors import UserError
from bench.base.registry import algorithms
from bench.method.gossip import accelerated, momentum_of_gossip
from bench.network.mixing import build_mixing

ROUNDS = (1, 2, 4, 8, 16)
# ρ, ω, √ω;  ‖FG_R − 11ᵀ/n‖₂ for these R;  ‖W^R − 11ᵀ/n‖₂ of plain gossip
TABLE = {
    8: (
        *(0.8047378541, 0.2549961832, 0.504971),
        (0.754947, 0.507457, 0.193776, 0.020972, 0.000159),
        (0.804738, 0.647603, 0.419390, 0.175888, 0.030936),
    ),
    16: (
        *(0.9492530217, 0.5214755107, 0.722133),
        (1.028634, 0.811278, 0.574186, 0.238335, 0.029781),
        (0.949253, 0.901081, 0.811948, 0.659259, 0.434622),
    ),
    64: (
        *(0.9967898178, 0.8517440990, 0.922900),
        (1.468992, 1.030665, 0.949203, 0.850929, 0.618698),
        (0.996790, 0.993590, 0.987221, 0.974605, 0.949855),
    ),
}
"""Rings with weights 1/3."""


@pytest.mark.parametrize("n", TABLE)
def test_the_table_of_rings(n):
    rho, omega, root, fast, plain = TABLE[n]
    network = build_mixing("ring", n)
    w, average = torch.as_tensor(network.matrices[0]), 1 / n
    given = torch.tensor(rho, dtype=torch.float64)
    assert network.certificate.rho == pytest.approx(rho, abs=5e-11)
    assert float(momentum_of_gossip(given)) == pytest.approx(omega, abs=5e-10)
    assert float(momentum_of_gossip(given)) ** 0.5 == pytest.approx(root, abs=5e-7)
    for rounds, norm, slow in zip(ROUNDS, fast, plain, strict=True):

        def mix(*tensors):
            return tuple(w @ tensor for tensor in tensors)

        (operator,) = accelerated(mix, given, rounds, torch.eye(n, dtype=torch.float64))
        assert float(torch.linalg.matrix_norm(operator - average, 2)) == pytest.approx(norm, abs=1e-6)
        assert network.accelerated(rounds) == pytest.approx(norm, abs=1e-6)
        assert np.linalg.norm(np.linalg.matrix_power(network.matrices[0], rounds) - average, 2) == pytest.approx(
            slow, abs=1e-6
        )
        assert operator.sum(0) == pytest.approx(np.ones(n), abs=1e-12)  # the mean is kept


ACCELERATES = ("mg_dsgd", "detag", "dnsgd")


@pytest.mark.parametrize("name", ACCELERATES)
def test_rounds_that_are_too_few_are_refused_with_a_number_that_is_enough(name):
    def asks(rounds, topology, n):
        build_mixing(topology, n).must_serve(algorithms[name].declare_for({"rounds": rounds}))

    for n, too_few, kept, rho, enough in ((16, 1, "1.03", "0.949", 2), (64, 1, "1.47", "0.997", 4)):
        with pytest.raises(UserError) as said:
            asks(too_few, "ring", n)
        for value in (f" {kept};", f"ρ = {rho}.", f"algo.rounds={enough} "):
            assert value in str(said.value)
        asks(enough, "ring", n)
        with pytest.raises(UserError, match=f"rounds={enough} "):
            asks(enough - 1, "ring", n)
    asks(1, "ring", 8)
    asks(1, "complete", 16)
    asks(1, "all_reduce", 16)
    with pytest.raises(UserError, match="symmetric"):
        asks(8, "directed_ring", 16)


REFERENCES = ("nsgdm", "adagrad_norm", "adam", "dog", "prodigy", "storm")


def test_references_ask_for_the_exact_average():
    names = [module.name for module in pkgutil.iter_modules(package.__path__)]
    assert set(REFERENCES) == {name for name in names if algorithms[name].declare_for({}).exact_average}


@pytest.mark.parametrize("name", REFERENCES)
def test_references_are_refused_where_a_round_does_not_average(name):
    properties = algorithms[name].declare_for({})
    with pytest.raises(UserError, match=f"{name} .*topology=all_reduce .*topology=complete"):
        build_mixing("ring", 8).must_serve(properties)
    for topology in ("complete", "all_reduce"):
        build_mixing(topology, 8).must_serve(properties)
