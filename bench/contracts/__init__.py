"""Checks for methods, networks and compressors, and ``simulate``, which runs a method on plain tensors."""

from bench.contracts.methods import CheckFailed, check_algorithm, parametrize_with_checks
from bench.contracts.simulate import Trace, simulate

__all__ = ["CheckFailed", "Trace", "check_algorithm", "parametrize_with_checks", "simulate"]
