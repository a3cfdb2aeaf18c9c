"""Checks for every method, network and compressor, and a way to run a method on plain tensors."""

from bench.contracts.methods import BrokenPromise, parametrize_with_checks
from bench.contracts.simulate import Trace, simulate

__all__ = ["BrokenPromise", "Trace", "parametrize_with_checks", "simulate"]
