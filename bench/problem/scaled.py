"""c·f and c²·f(x/c) for a problem f."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from torch import Tensor

from bench.base.errors import UserError
from bench.problem.problem import Evaluation, Problem


def refuse_scale(scale: float) -> None:
    """A UserError if f cannot be multiplied by this."""
    if scale <= 0:
        raise UserError(f"scale multiplies f and must be positive; got {scale:g}.")


def refuse_stretch(stretch: float) -> None:
    """A UserError if x cannot be stretched by this."""
    if stretch <= 0:
        raise UserError(f"stretch is how much farther away all is, and must be positive; got {stretch:g}.")


def changed(problem: Problem, scale: float, stretch: float) -> Problem:
    """f in other units; itself where both are 1."""
    problem = problem if stretch == 1.0 else Stretched(problem, stretch)
    return problem if scale == 1.0 else Scaled(problem, scale)


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


class Scaled(Around):
    """c·f for a problem f: what a method that needs no problem parameters must not notice."""

    def __init__(self, problem: Problem, scale: float) -> None:
        super().__init__(problem)
        refuse_scale(scale)
        self.scale = scale
        if (inner := problem.prox) is not None:
            self.prox = lambda x, eta: inner(x, scale * eta)

    def start(self) -> Tensor:
        return self.problem.start()

    def grad(self, x: Tensor, s: int, stream: int = 0) -> Tensor:
        return self.scale * self.problem.grad(x, s, stream)

    def full(self, x: Tensor) -> Tensor:
        return self.scale * self.problem.full(x)

    def evaluate(self, mean: Tensor) -> Evaluation:
        e, c = self.problem.evaluate(mean), self.scale
        return Evaluation(c * e.train_loss, c * e.test_loss, e.test_correct, c * e.gradient, _times(c, e.also))

    def node_gradients(self, mean: Tensor) -> Iterable[Tensor] | None:
        gradients = self.problem.node_gradients(mean)
        return None if gradients is None else (self.scale * gradient for gradient in gradients)


class Stretched(Around):
    """c²·f(x/c) for a problem f, from c·x⁰: all is c times as far away, and as curved as it was.

    A method whose step is η times a gradient does exactly what it does on f; one whose step has a length of its own
    does not. Where c is a power of two, that is so bit for bit.
    """

    def __init__(self, problem: Problem, stretch: float) -> None:
        super().__init__(problem)
        refuse_stretch(stretch)
        self.stretch = stretch
        if (inner := problem.prox) is not None:
            self.prox = lambda x, eta: stretch * inner(x / stretch, eta)

    def start(self) -> Tensor:
        return self.stretch * self.problem.start()

    def grad(self, x: Tensor, s: int, stream: int = 0) -> Tensor:
        return self.stretch * self.problem.grad(x / self.stretch, s, stream)

    def full(self, x: Tensor) -> Tensor:
        return self.stretch * self.problem.full(x / self.stretch)

    def evaluate(self, mean: Tensor) -> Evaluation:
        e, c = self.problem.evaluate(mean / self.stretch), self.stretch
        also = _times(c**2, e.also)
        return Evaluation(c**2 * e.train_loss, c**2 * e.test_loss, e.test_correct, c * e.gradient, also)

    def node_gradients(self, mean: Tensor) -> Iterable[Tensor] | None:
        gradients = self.problem.node_gradients(mean / self.stretch)
        return None if gradients is None else (self.stretch * gradient for gradient in gradients)


def _times(c: float, found: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Losses, and what is left of them above the least, in the units of f; scores have their own."""
    return {name: c * value if name.endswith(("loss", "excess")) else value for name, value in found.items()}
