"""Rescaled objectives: c·f and c²·f(x/c) for a problem f."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from torch import Tensor

from bench.base.errors import UserError
from bench.problem.problem import Evaluation, Problem


def refuse(scale: float, input_scale: float) -> None:
    """Raise ``UserError`` unless both factors are positive."""
    if scale <= 0:
        raise UserError(f"scale must be positive; got {scale:g}.")
    if input_scale <= 0:
        raise UserError(f"input_scale must be positive; got {input_scale:g}.")


def changed(problem: Problem, scale: float, input_scale: float) -> Problem:
    """Return the problem ``scale``·c²·f(x/c) with c = ``input_scale``; f itself if both are 1.

    A parameter-free method should be invariant to ``scale``. c²·f(x/c) from c·x⁰ moves the minimizer c times farther
    away and leaves the curvature unchanged. A method with steps η·gradient is invariant to it, bit for bit if c is a
    power of two; a method with normalized steps is not.
    """
    problem = problem if input_scale == 1.0 else Rescaled(problem, input_scale**2, input_scale, input_scale)
    return problem if scale == 1.0 else Rescaled(problem, scale, scale, 1.0)


class Around(Problem):
    """Base class of problems that wrap another problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.setting)
        self.problem = problem
        self.layout, self.epoch_size, self.autograd = problem.layout, problem.epoch_size, problem.autograd
        self.columns, self.prox = problem.columns, problem.prox

    @property
    def work(self) -> int:
        return self.problem.work


class Rescaled(Around):
    """The problem a·f(x/b), from b·x⁰: values are scaled by ``value`` = a, gradients by ``slope`` = a/b."""

    def __init__(self, problem: Problem, value: float, slope: float, input_scale: float) -> None:
        super().__init__(problem)
        self.value, self.slope, self.input_scale = value, slope, input_scale
        if (inner := problem.prox) is not None:
            self.prox = lambda x, eta: input_scale * inner(x / input_scale, slope / input_scale * eta)

    def start(self) -> Tensor:
        return self.input_scale * self.problem.start()

    def grad(self, x: Tensor, s: int, stream: int = 0) -> Tensor:
        return self.slope * self.problem.grad(x / self.input_scale, s, stream)

    def full(self, x: Tensor) -> Tensor:
        return self.slope * self.problem.full(x / self.input_scale)

    def evaluate(self, mean: Tensor) -> Evaluation:
        e, a = self.problem.evaluate(mean / self.input_scale), self.value
        slope, also = self.slope * e.gradient, self._also(e.also)
        return Evaluation(a * e.train_loss, a * e.test_loss, e.test_correct, slope, also)

    def _also(self, found: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Scale losses and suboptimalities, which have the unit of f, and squared distances, but not scores."""
        units = {"loss": self.value, "suboptimality": self.value, "minimizer_distance": self.input_scale**2}
        whole = {"distance": self.input_scale**2}  # other names that end so may have another unit
        factors = {
            name: whole.get(name, next((c for end, c in units.items() if name.endswith(end)), None)) for name in found
        }
        return {name: value if (c := factors[name]) is None else c * value for name, value in found.items()}

    def node_gradients(self, mean: Tensor) -> Iterable[Tensor] | None:
        gradients = self.problem.node_gradients(mean / self.input_scale)
        return None if gradients is None else (self.slope * gradient for gradient in gradients)

    def node_losses(self, x: Tensor) -> Tensor | None:
        losses = self.problem.node_losses(x / self.input_scale)
        return None if losses is None else self.value * losses
