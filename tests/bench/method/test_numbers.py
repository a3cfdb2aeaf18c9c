"""Numbers may differ between the replicas of a program; what a method may know is behind a door."""

import gc
from types import ModuleType, NoneType
from typing import NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor

from bench.base.errors import UserError
from bench.base.registry import algorithms
from bench.build.network import mixing_of
from bench.config.choices import options_of
from bench.engine import stacked
from bench.method import Algorithm, Steps, algorithm
from bench.method.schedules import stepsize_tables
from bench.network.certificate import Certificate
from bench.network.mixing import Mixing
from bench.problem.problem import Problem
from bench.sweep.groups import batches, program
from tests.helpers.configs import Kept, config, rows


class State(NamedTuple):
    x: Tensor
    m: Tensor


class Momentum(Algorithm):
    """M⁺ = β M + G(X),  X⁺ = W (X − η_t M⁺)"""

    beta: float = 0.9

    def start(self, x, grad, mix):
        return State(x, torch.zeros_like(x))

    def step(self, s, t, grad, mix):
        m = self.beta * s.m + grad(s.x, t)
        return State(mix(s.x - self.eta[t] * m)[0], m)


class Looks(algorithms["dsgd"]):
    """Keeps what it is given, so that a test can look at it."""

    given: list = []  # noqa: RUF012

    def step(self, s, t, grad, mix):
        type(self).given[:] = [self, grad, mix]
        return super().step(s, t, grad, mix)


@pytest.fixture
def known(monkeypatch):
    """Registered for one test."""

    def add(name, cls, **words):
        before = dict(algorithms._items)
        algorithm(name, vectors_per_step=1, cite="nobody", **words)(cls)
        added = algorithms._items.pop(name)
        assert algorithms._items == before
        monkeypatch.setitem(algorithms._items, name, added)
        options_of.cache_clear()

    yield add
    options_of.cache_clear()


def test_a_sweep_over_two_numbers_is_one_program(known):
    known("momentum", Momentum)
    grid = [
        config(algo={"name": "momentum", "eta": eta, "beta": beta}, steps=20)
        for eta in (0.01, 0.02, 0.05, 0.1, 0.2)
        for beta in (0.0, 0.3, 0.5, 0.8, 0.9)
    ]
    assert len({program(one) for one in grid}) == 1
    assert batches(grid)[0] == [list(range(25))]
    together = rows(*grid)
    for one, of_group in zip(grid, together, strict=True):
        (alone,) = rows(one)
        assert of_group[-1]["train_loss"] == pytest.approx(alone[-1]["train_loss"], rel=1e-12)
    assert len({measured[-1]["train_loss"] for measured in together}) == 25


@pytest.mark.parametrize("kind", ["diminishing", "fixed", "constant", "warmup_step"])
def test_the_letters_of_a_schedule(kind):
    at = Steps.of(kind, n=9, T=100)
    assert np.array_equal(at.t, np.arange(100))
    assert (at.T, at.n, len(at.h), len(at.root)) == (100, 9, 100, 100)
    expected = {
        "diminishing": np.concatenate([[0], 3 / np.sqrt(np.arange(1, 100))]),
        "fixed": np.full(100, 0.3),
        "constant": np.ones(100),
        "warmup_step": np.concatenate([[0.2, 0.4, 0.6, 0.8], np.ones(46), np.full(25, 0.1), np.full(25, 0.01)]),
    }[kind]
    assert at.root == pytest.approx(expected)
    eta = stepsize_tables(algorithms["dsgd"].stepsizes, [{"schedule": kind, "eta": 0.5}], 9, 100, torch.float64)["eta"]
    assert eta.values[:, 0] == pytest.approx(0.5 * expected)


def reachable(roots) -> list:
    """All that attributes, slots, items and closures lead to, as far as a method could go by looking around."""
    found, todo = {}, list(roots)
    while todo:
        one = todo.pop()
        if id(one) in found or isinstance(one, type | ModuleType | str | int | float | bool | NoneType):
            continue
        found[id(one)] = one
        todo += list(getattr(one, "__dict__", {}).values())
        slots = [name for kind in type(one).__mro__ for name in getattr(kind, "__slots__", ())]
        todo += [getattr(one, name) for name in slots if name != "__weakref__" and hasattr(one, name)]
        todo += [cell.cell_contents for cell in getattr(one, "__closure__", None) or ()]
        todo += [getattr(one, name) for name in ("__self__", "__func__", "__wrapped__") if hasattr(one, name)]
        if isinstance(one, dict):
            todo += list(one.values())
        elif isinstance(one, list | tuple | set):
            todo += list(one)
    return list(found.values())


def test_a_method_without_needs_cannot_read_the_spectrum(known):
    known("looks", Looks)
    c = config(algo="looks", dataset="digits", topology="star", steps=3)
    stacked.run([c], Kept())
    things = reachable(Looks.given)
    assert not [thing for thing in things if isinstance(thing, Mixing | Certificate | Problem)]
    w, rho = mixing_of(c).matrices[0], mixing_of(c).certificate.rho
    for thing in things:
        if isinstance(thing, np.ndarray | Tensor):
            values = np.asarray(thing).ravel()
            assert values.size < w.size or w.tobytes() not in values.astype(np.float64).tobytes()
            assert not np.isclose(values.astype(np.float64), rho, rtol=1e-12).any()
    assert any(issubclass(type(thing), Problem) for thing in gc.get_objects())  # it is there, behind the door


def test_only_methods_that_need_the_topology_read_the_spectrum(known):
    class Asks(algorithms["dsgd"]):
        def step(self, s, t, grad, mix):
            self.asked = self.rho, self.lambda_n
            type(self).last = self.asked
            return super().step(s, t, grad, mix)

    known("asks", Asks)
    with pytest.raises(UserError, match=r"asks .*rho.*needs=\{'topology'\}"):
        rows(config(algo="asks"))

    class Knows(Asks):
        pass

    known("knows", Knows, needs={"topology"})
    rows(config(algo="knows"), config(algo="knows", topology="star"))
    rho, lambda_n = Knows.last
    for r, name in enumerate(("ring", "star")):
        certificate = mixing_of(config(topology=name)).certificate
        assert rho[r].item() == pytest.approx(certificate.rho)
        assert lambda_n[r].item() == pytest.approx(certificate.lambda_n)
    with pytest.raises(UserError, match="lambda_n"):
        rows(config(algo="knows", topology="random_each_round"))


def test_rejects_an_unknown_property():
    with pytest.raises(UserError, match=r"'vectors_pro_step'.*'vectors_per_step'"):
        algorithm("x", vectors_pro_step=1, cite="nobody")


def test_an_earlier_name_of_a_property_suggests_the_present_one():
    with pytest.raises(UserError, match=r"'sends'.* vectors_per_step"):
        algorithm("x", sends=1, cite="nobody")
