"""A method that cannot stand large stepsizes: HEARSAY_PLUGINS=tests.helpers.picky"""

from algorithms.dsgd import DSGD
from bench.method import algorithm


@algorithm("picky", vectors_per_step=1, cite="nobody")
class Picky(DSGD):
    """D-SGD, unless η > 1."""

    def step(self, s, t, grad, mix):
        if self.eta.values.max() > 1:
            raise ArithmeticError("this stepsize is too large for me")
        return super().step(s, t, grad, mix)
