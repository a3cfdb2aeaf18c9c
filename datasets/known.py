"""What the problems share that know how good a point can be."""

from collections.abc import Mapping
from types import MappingProxyType

from bench.problem import Column

EXCESS: Mapping[str, Column] = MappingProxyType({"excess": Column("f(x̄) − f*", False)})
"""A column beside the loss; where f is regularised, it is of f alone."""
