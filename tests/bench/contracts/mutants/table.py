"""Shipped methods, each wrong in one way."""

from bench.method.algorithm import Algorithm

MUTANTS: dict[str, type[Algorithm]] = {}
"""By the name of the method, and what is wrong with it."""


def mutant(cls):
    MUTANTS[f"{cls.properties.name} {cls.__name__}"] = cls
    return cls
