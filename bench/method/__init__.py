"""What an algorithm is: a start, a step, stepsizes, and a declaration of what it costs."""

from bench.method.algorithm import Algorithm, Declaration, Grad, Mix, algorithm, unit
from bench.method.schedules import Kind

__all__ = ["Algorithm", "Declaration", "Grad", "Kind", "Mix", "algorithm", "unit"]
