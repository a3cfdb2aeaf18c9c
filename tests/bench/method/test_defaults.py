"""A method may declare defaults of its schedule and of the options of an inherited ``stepsizes``."""

import pytest

from algorithms.dsgd import DSGD
from bench.base.errors import UserError
from bench.base.registry import algorithms
from bench.config.choices import options_of
from bench.method import Algorithm, algorithm
from bench.methods import page


@pytest.fixture
def register(monkeypatch):
    """Register subclasses of D-SGD for one test."""
    list(algorithms)  # discovered before the copy
    monkeypatch.setattr(algorithms, "_items", {**algorithms._items})

    def declare(name, base=DSGD, **more):
        return algorithm(name, vectors_per_step=1, cite="here", **more)(type(name, (base,), {}))

    return declare


def defaults_of(cls):
    return {name: cls.options()[name].default for name in cls.stepsize_options()}


def test_a_method_declares_defaults_of_inherited_options(register):
    made = register("with_defaults", defaults={"eta": 3, "schedule": "fixed"})
    assert defaults_of(made) == {"schedule": "fixed", "eta": 3.0}
    assert isinstance(made.options()["eta"].default, float)
    assert made.stepsize_options() == Algorithm.stepsize_options()  # those of bench/contract.py
    assert defaults_of(Algorithm) == {"schedule": "diminishing", "eta": 0.01}
    assert {name: option.default for name, option in options_of("algo", "with_defaults").items()}["eta"] == 3.0
    assert "algo.eta=3.0" in "\n".join(page("with_defaults"))


def test_a_subclass_does_not_inherit_declared_defaults(register):
    base = register("declares", defaults={"eta": 3.0})
    assert defaults_of(register("derived", base)) == defaults_of(Algorithm)


@pytest.mark.parametrize(
    ("defaults", "value"),
    [({"etta": 1.0}, "etta"), ({"gossip": "twice"}, "gossip"), ({"eta": -1.0}, "-1"), ({"schedule": "no"}, "'no'")],
)
def test_rejects_invalid_defaults(register, defaults, value):
    with pytest.raises(UserError, match=value):
        register("wrong", defaults=defaults)
    assert "wrong" not in algorithms
