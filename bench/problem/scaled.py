"""c·f for a problem f."""

from __future__ import annotations

from collections.abc import Iterable

from torch import Tensor

from bench.base.errors import UserError
from bench.problem.problem import Evaluation, Problem


def refuse_scale(scale: float) -> None:
    """A UserError if f cannot be multiplied by this."""
    if scale <= 0:
        raise UserError(f"scale multiplies f and must be positive; got {scale:g}.")


class Scaled(Problem):
    """c·f for a problem f: what a method that needs no problem parameters must not notice."""

    def __init__(self, problem: Problem, scale: float) -> None:
        super().__init__(problem.setting)
        refuse_scale(scale)
        self.problem, self.scale = problem, scale
        self.layout, self.epoch_size, self.autograd = problem.layout, problem.epoch_size, problem.autograd

    @property
    def work(self) -> int:
        return self.problem.work

    def start(self) -> Tensor:
        return self.problem.start()

    def grad(self, x: Tensor, s: int, stream: int = 0) -> Tensor:
        return self.scale * self.problem.grad(x, s, stream)

    def full(self, x: Tensor) -> Tensor:
        return self.scale * self.problem.full(x)

    def evaluate(self, mean: Tensor) -> Evaluation:
        e, c = self.problem.evaluate(mean), self.scale
        return Evaluation(c * e.train_loss, c * e.test_loss, e.test_correct, c * e.gradient)

    def node_gradients(self, mean: Tensor) -> Iterable[Tensor] | None:
        gradients = self.problem.node_gradients(mean)
        return None if gradients is None else (self.scale * gradient for gradient in gradients)
