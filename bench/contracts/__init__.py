"""Checks for methods, networks and compressors, and ``simulate`` and ``play``, which run a method on plain tensors."""

from bench.contracts.methods import CheckFailed, check_algorithm, parametrize_with_checks
from bench.contracts.play import Pace, Played, play
from bench.contracts.simulate import Trace, simulate

__all__ = ["CheckFailed", "Pace", "Played", "Trace", "check_algorithm", "parametrize_with_checks", "play", "simulate"]
