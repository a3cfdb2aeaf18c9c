"""c·f and c²·f(x/c) for a problem f."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from torch import Tensor

from bench.base.errors import UserError
from bench.problem.problem import Evaluation, Problem


def refuse(scale: float, input_scale: float) -> None:
    """A UserError where f cannot be multiplied, or x cannot be stretched, by these."""
    if scale <= 0:
        raise UserError(f"scale multiplies f and must be positive; got {scale:g}.")
    if input_scale <= 0:
        raise UserError(f"input_scale is how much farther away all is, and must be positive; got {input_scale:g}.")


def changed(problem: Problem, scale: float, input_scale: float) -> Problem:
    """``scale``·c²·f(x/c) with c = ``input_scale``; f itself where both are 1.

    c·f is what a method that needs no problem parameters must not notice. c²·f(x/c) from c·x⁰ moves all c times as far
    away and leaves it as curved as it was: a method whose step is η times a gradient does exactly what it does on f;
    one whose step has a length of its own does not. Where c is a power of two, that is so bit for bit.
    """
    problem = problem if input_scale == 1.0 else Rescaled(problem, input_scale**2, input_scale, input_scale)
    return problem if scale == 1.0 else Rescaled(problem, scale, scale, 1.0)


class Around(Problem):
    """A problem made of another."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.setting)
        self.problem = problem
        self.layout, self.epoch_size, self.autograd = problem.layout, problem.epoch_size, problem.autograd
        self.columns, self.prox = problem.columns, problem.prox

    @property
    def work(self) -> int:
        return self.problem.work


class Rescaled(Around):
    """a·f(x/b) for a problem f, from b·x⁰: values are ``value`` = a and gradients ``slope`` = a/b times those of f."""

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
        return Evaluation(a * e.train_loss, a * e.test_loss, e.test_correct, self.slope * e.gradient, _times(a, e.also))

    def node_gradients(self, mean: Tensor) -> Iterable[Tensor] | None:
        gradients = self.problem.node_gradients(mean / self.input_scale)
        return None if gradients is None else (self.slope * gradient for gradient in gradients)


def _times(c: float, found: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Losses, and what is left of them above the least, in the units of f; scores have their own."""
    return {name: c * value if name.endswith(("loss", "suboptimality")) else value for name, value in found.items()}
