"""The interface for authors of methods: the base class, its registration, stepsizes and helpers."""

from bench.method.algorithm import Algorithm
from bench.method.asynchronous import Asynchronous, Node
from bench.method.estimates import unit
from bench.method.properties import Properties
from bench.method.protocols import Grad, Mix
from bench.method.register import algorithm
from bench.method.schedules import Steps, schedule

__all__ = ["Algorithm", "Asynchronous", "Grad", "Mix", "Node", "Properties", "Steps", "algorithm", "schedule", "unit"]
