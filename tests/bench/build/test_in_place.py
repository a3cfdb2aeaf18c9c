"""Functions of plug-ins must not change their arguments in place: the run uses these tensors again."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import nn

from bench.base.errors import UserError
from bench.base.layout import Layout
from bench.models import Model, model, torch_model
from bench.problem.arrays import Arrays
from bench.problem.losses import Loss, Score, loss
from bench.problem.problem import Evaluation, Problem, dataset, vector_layout
from bench.problem.regularized import Regularizer, regularizer
from bench.problem.setting import hosted_share
from bench.sweep import preflight
from tests.helpers.configs import config

where = ""


def minus(name, x, y):
    """Return x - y, in place if the test names this function."""
    if where == name:
        x -= y
        return x
    return x - y


class Bowl(Problem):
    layout = vector_layout(3)

    def start(self):
        return torch.ones(len(self.setting.seeds), len(self.setting.hosted), 3, dtype=self.setting.dtype)

    def grad(self, x, s, stream=0):
        return minus("grad", x, 2.5)

    def full(self, x):
        return minus("full", x, 2.5)

    def evaluate(self, mean):
        share, off = hosted_share(self.setting), minus("evaluate", mean.double(), 2.5)
        loss = share * off.square().sum(-1) / 2
        return Evaluation(loss, loss, None, share * off)

    def node_gradients(self, mean):
        for _ in self.setting.hosted:
            yield minus("node_gradients", mean.double(), 2.5)

    def node_losses(self, x):
        return minus("node_losses", x.double(), 2.5).square().sum(-1) / 2


@dataclass(frozen=True)
class Quarter(Regularizer):
    def value(self, x):
        return minus("value", x, 1.0).square().sum(-1) / 8

    def gradient(self, x):
        return minus("gradient", x, 1.0) / 4


@dataclass(frozen=True)
class Shifted(Regularizer):
    smooth = False

    def value(self, x):
        return x.sum(-1)

    def prox(self, x, eta):
        return minus("prox", x, eta)


class Absolute(Loss):
    outputs = (1,)

    def each(self, out, y):
        return minus("each", out.squeeze(-1), y).abs()

    def delta(self, out, y, weight):
        return (minus("delta", out.squeeze(-1), y).sign() * weight).unsqueeze(-1)

    def scores(self):
        return {"error": Score("error", False, lambda out, y: minus("error", out.squeeze(-1), y).abs())}


class Affine(Model):
    def __init__(self, inputs, classes):
        self.layout = Layout({"out.weight": (math.prod(inputs), classes), "out.bias": (classes,)})

    def forward(self, p, x):
        x, bias = minus("forward", x.flatten(2), 0.5), minus("parameters", p["out.bias"], 0.5)
        return x @ p["out.weight"] + bias.unsqueeze(1)


class Untraced(Affine):
    def forward(self, p, x):
        return super().forward(p, x.clamp(-1, 1) if float(x.abs().max()) > 1e9 else x)


class Net(nn.Module):
    def __init__(self, inputs, classes):
        super().__init__()
        self.out = nn.Linear(math.prod(inputs), classes)

    def forward(self, x):
        return self.out(minus("module", x.flatten(1), 0.5))


def numbers():
    x = np.random.default_rng(0).standard_normal((60, 4))
    return Arrays(x[::2], x[::2].sum(1), x[1::2], x[1::2].sum(1), classes=None)


@pytest.fixture(autouse=True)
def _plugins(alone):
    dataset("mine")(Bowl)
    dataset("numbers")(numbers)
    regularizer("mine")(Quarter)
    regularizer("kinked")(Shifted)
    loss("mine")(Absolute)
    model("mine")(Affine)
    model("untraced")(Untraced)
    torch_model("net")(Net)


CASES = [
    *(({"dataset": "mine"}, "dataset=mine", name) for name in ("grad", "full", "evaluate", "node_gradients")),
    ({"dataset": "mine"}, "dataset=mine", "node_losses"),
    *(({"regularizer": {"name": "mine"}}, "regularizer=mine", name) for name in ("value", "gradient")),
    ({"regularizer": {"name": "kinked"}, "algo": "dsgd"}, "regularizer=kinked", "prox"),
    *(({"dataset": "numbers", "loss": {"name": "mine"}}, "loss=mine", name) for name in ("each", "delta", "error")),
    *(({"dataset": "digits", "model": "mine"}, "model=mine", name) for name in ("forward", "parameters")),
    *(({"dataset": "digits", "model": "untraced"}, "model=untraced", name) for name in ("forward", "parameters")),
    ({"dataset": "digits", "model": "net"}, "model=net", "module"),
]


@pytest.mark.parametrize(("changes", "plugin", "name"), CASES)
def test_rejects_a_function_that_changes_its_argument(changes, plugin, name, monkeypatch):
    preflight.check_data(config(**changes))
    monkeypatch.setitem(globals(), "where", name)
    with pytest.raises(UserError, match=f"^{plugin}: .*in place"):
        preflight.check_data(config(**changes))
