"""What an algorithm is: a start, a step, stepsizes, and a declaration of what it costs."""

from bench.method.algorithm import Algorithm, Declaration, Grad, Mix, algorithm, unit
from bench.method.schedules import Steps, schedule

Kind = str
"""Of a schedule; stepsizes that were written for kind, n and h still work."""

__all__ = ["Algorithm", "Declaration", "Grad", "Kind", "Mix", "Steps", "algorithm", "schedule", "unit"]
