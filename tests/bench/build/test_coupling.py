"""The numbers of a run must not depend on the other runs that are computed with it."""

from dataclasses import dataclass

import pytest
import torch
import torch.nn.functional as F

from algorithms.dsgd import DSGD
from bench.base.errors import UserError
from bench.base.registry import compressors
from bench.build import rehearsal
from bench.engine.engines import engine_of
from bench.method import algorithm
from bench.network.compressor import Compressor
from bench.network.compressors import from_bytes, to_bytes
from bench.problem.losses import OfClasses, loss
from bench.problem.regularized import Regularizer, regularizer
from bench.sweep import preflight
from bench.training.metrics import metric
from tests.helpers.configs import Kept, config

BY = {"row": {"dim": -1, "keepdim": True}, "all": {}}
by = "row"


def norm(x):
    """The norm of each vector, or of all replicas and nodes, as the test says."""
    return torch.linalg.vector_norm(x, **BY[by])


@pytest.fixture(autouse=True)
def _plugins(alone):
    """One plug-in of every kind that computes with replicas. All of them call ``norm``."""

    @algorithm("mine", vectors_per_step=1, cite="nobody")
    class Normalized(DSGD):
        def step(self, s, t, grad, mix):
            return super().step(s, t, lambda x, s: (g := grad(x, s)) / (1e-9 + norm(g)), mix)

    @compressors.register("mine")
    class Quantized(Compressor):
        def delta(self, size):
            return 0.1

        def pack(self, v, draws):
            unit = norm(v).expand(len(v), 1) / 4 + 1e-30
            up = torch.stack([torch.as_tensor(draws(row).random(v.shape[1])) for row in range(len(v))]).to(v)
            return to_bytes((v / unit + up).floor() * unit)

        def unpack(self, payload, size, dtype, draws):
            return from_bytes(payload, dtype)

    @regularizer("mine")
    @dataclass(frozen=True)
    class Huber(Regularizer):
        def value(self, x):
            return 0.1 * torch.sqrt(1 + x.square().sum(-1))

        def gradient(self, x):
            return 0.1 * x / torch.sqrt(1 + norm(x).square())

    @loss("mine")
    class Normal(OfClasses):
        @property
        def outputs(self):
            return (self.classes,)

        def each(self, out, y):
            return F.cross_entropy((out / (1 + norm(out))).mT, y, reduction="none")


def length(view):
    return norm(view.x).reshape(-1).expand(len(view.x))


RUNS = {
    "algo=mine": {"algo": "mine"},
    "compressor=mine": {"algo": "choco", "compressor": "mine"},
    "regularizer=mine": {"algo": "dsgd", "regularizer": {"name": "mine"}},
    "loss=mine": {"algo": "dsgd", "loss": {"name": "mine"}},
    "metric=mine": {"algo": "dsgd"},
}
PROBLEMS = [{"dtype": "float32", "model": "mlp"}, {"dtype": "float64", "model": "linear"}]


def chosen(name, problem):
    if name == "metric=mine":
        metric("mine")(length)
    return config(**RUNS[name], **problem, dataset={"name": "digits"}, nodes=4)


@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
@pytest.mark.parametrize("name", RUNS)
def test_rejects_plugins_that_reduce_over_replicas(name, problem, monkeypatch):
    run = chosen(name, problem)
    monkeypatch.setitem(globals(), "by", "all")
    with pytest.raises(UserError, match=rf"^{name} .*dim=-1"):
        rehearsal.rehearse(run)


@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
@pytest.mark.parametrize("name", RUNS)
def test_accepts_plugins_that_reduce_over_the_last_axis(name, problem):
    run = chosen(name, problem)
    preflight.check(run)
    engine_of(run).compute([run], Kept(), None, None)
