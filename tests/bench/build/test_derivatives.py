"""The formulas of a plug-in's loss and regularizer must belong to each other."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from bench.base.errors import UserError
from bench.problem.arrays import Arrays
from bench.problem.losses import CrossEntropy, Loss, OfClasses, Squared, loss, spread
from bench.problem.problem import dataset
from bench.problem.regularized import Regularizer, Saturating, Square, regularizer
from bench.sweep import preflight
from tests.helpers.configs import config

pytestmark = pytest.mark.usefixtures("alone")


def check(**changes):
    preflight.check(config(**{"algo": "dsgd", "dataset": {"name": "digits"}, "nodes": 4, **changes}))


@dataclass(frozen=True)
class Half(Square):
    """The value of twice the gradient."""

    def value(self, x):
        return 2 * super().value(x)


@dataclass(frozen=True)
class Shared(Square):
    """The gradient of the norm, divided by the norm of all vectors."""

    def value(self, x):
        return self.alpha * torch.linalg.vector_norm(x, dim=-1)

    def gradient(self, x):
        return self.alpha * x / torch.linalg.vector_norm(x, dim=(1, 2) if x.dim() == 3 else -1, keepdim=True)


@dataclass(frozen=True)
class Together(Square):
    """One value for all vectors."""

    def value(self, x):
        return self.alpha * torch.linalg.vector_norm(x).expand(x.shape[:-1])

    def gradient(self, x):
        return self.alpha * x / torch.linalg.vector_norm(x)


@dataclass(frozen=True)
class Detached(Regularizer):
    """Weights that autograd does not see, in float32."""

    def value(self, x):
        return (x.detach().float().double().abs() * x.abs()).sum(-1)

    def gradient(self, x):
        return 2 * x


@dataclass(frozen=True)
class Barrier(Regularizer):
    """Not finite at negative numbers, and nearly the gradient of the value."""

    def value(self, x):
        return -x.log().sum(-1)

    def gradient(self, x):
        return -1 / (x.log().exp() + 1e-9)


@dataclass(frozen=True)
class Single(Regularizer):
    """All in float32."""

    def value(self, x):
        return torch.nn.functional.huber_loss(x.float(), torch.zeros_like(x.float()), reduction="none").sum(-1)

    def gradient(self, x):
        return x.float().clamp(-1, 1).to(x)


@dataclass(frozen=True)
class Sparse(Regularizer):
    """The ℓ₁ norm, which has no gradient."""

    smooth = False

    def value(self, x):
        return 0.01 * x.abs().sum(-1)

    def prox(self, x, eta):
        return x.sign() * (x.abs() - 0.01 * eta).clamp_min(0)


@pytest.mark.parametrize("cls", [Half, Shared, Together])
def test_rejects_a_regularizer_whose_formulas_do_not_belong_together(cls):
    regularizer("mine")(cls)
    with pytest.raises(UserError, match=r"^regularizer=mine: "):
        check(regularizer={"name": "mine"})


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("model", ["linear", "mlp"])
@pytest.mark.parametrize("cls", [Square, Saturating, Detached, Barrier, Single, Sparse])
def test_accepts_correct_regularizers(cls, model, dtype):
    regularizer("mine")(type(cls.__name__, (cls,), {"__module__": __name__}))
    algo = "dsgd" if cls.smooth else "deepstorm"
    check(algo=algo, regularizer={"name": "mine"}, model=model, dtype=dtype)


class Wrong(CrossEntropy):
    """The gradient of half the loss."""

    def each(self, out, y):
        return 2 * super().each(out, y)


class Unweighted(CrossEntropy):
    def delta(self, out, y, weight):
        return super().delta(out, y, 1.0)


class OverModels(OfClasses):
    """Outputs that are divided by the largest one of all models."""

    @property
    def outputs(self):
        return (self.classes,)

    def each(self, out, y):
        return F.cross_entropy((out / (1 + out.abs().amax(0, keepdim=True))).mT, y, reduction="none")


class Focal(OfClasses):
    """The default gradient of a nonlinear loss."""

    @property
    def outputs(self):
        return (self.classes,)

    def each(self, out, y):
        lost = F.cross_entropy(out.mT, y, reduction="none")
        return (1 - torch.exp(-lost)).square() * lost


class Hinge(OfClasses):
    """A nonsmooth loss with its own gradient."""

    @property
    def outputs(self):
        return (self.classes,)

    def _signs(self, y):
        return 2.0 * F.one_hot(y, self.classes) - 1

    def each(self, out, y):
        return (1 - self._signs(y) * out).clamp_min(0).sum(-1)

    def delta(self, out, y, weight):
        signs = self._signs(y).to(out)
        return -signs * (signs * out < 1) * spread(weight, out)


class Absolute(Loss):
    @property
    def outputs(self):
        return (1,)

    def each(self, out, y):
        return (out[..., 0] - y).abs()

    def delta(self, out, y, weight):
        return torch.sign(out - y.unsqueeze(-1)) * spread(weight, out)


@pytest.mark.parametrize("cls", [Wrong, Unweighted, OverModels])
def test_rejects_a_loss_whose_formulas_do_not_belong_together(cls):
    loss("mine")(cls)
    with pytest.raises(UserError, match=r"^loss=mine: "):
        check(loss={"name": "mine"})


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("model", ["linear", "mlp"])
@pytest.mark.parametrize("cls", [CrossEntropy, Focal, Hinge])
def test_accepts_correct_losses_of_classes(cls, model, dtype):
    loss("mine")(type(cls.__name__, (cls,), {"__module__": __name__}))
    check(loss={"name": "mine"}, model=model, dtype=dtype)


@pytest.mark.parametrize("cls", [Squared, Absolute])
def test_accepts_correct_losses_of_numbers(cls):
    g = np.random.default_rng(0)
    x = g.standard_normal((60, 3))
    dataset("numbers")(lambda: Arrays(x[:40], x[:40, 0], x[40:], x[40:, 0], classes=None))
    loss("mine")(type(cls.__name__, (cls,), {"__module__": __name__}))
    check(loss={"name": "mine"}, dataset={"name": "numbers"})
