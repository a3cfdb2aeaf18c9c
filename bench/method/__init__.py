"""What an algorithm is: a start, a step, stepsizes, and a declaration of what it costs."""

from bench.method.algorithm import Algorithm, Grad, Mix, algorithm, unit
from bench.method.declaration import Declaration
from bench.method.schedules import Steps, schedule

__all__ = ["Algorithm", "Declaration", "Grad", "Mix", "Steps", "algorithm", "schedule", "unit"]
