"""The checks of a method, and functions that run them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import TYPE_CHECKING

from bench.contracts import asynchronous
from bench.contracts.fixtures import SKIP, Check, CheckFailed
from bench.contracts.form import counts, no_memory, nothing_in_place, rounding, shapes, states
from bench.contracts.mathematics import average, centralized, descent, end, estimate, rest, scale, stepsize
from bench.contracts.network import (
    bound,
    compression,
    locality,
    network_use,
    one_node,
    one_voice,
    permutation,
    replicas,
)
from bench.contracts.reading import asked_read, states_read
from bench.method.algorithm import Algorithm

if TYPE_CHECKING:
    import pytest

__all__ = ["CHECKS", "SKIP", "CheckFailed", "check_algorithm", "checks_of", "parametrize_with_checks"]

CHECKS: tuple[Check, ...] = (
    *(shapes, nothing_in_place, no_memory, counts, network_use, rounding, states, compression, permutation, locality),
    *(replicas, one_node, one_voice, states_read, asked_read, average, descent, stepsize, estimate, rest, end),
    *(bound, centralized, scale),
)
"""Each raises ``CheckFailed``, or returns ``SKIP`` if it does not apply. Asynchronous methods have others."""


def checks_of(method: type[Algorithm]) -> tuple[Check, ...]:
    """Return the checks of a method, which depend on whether it is asynchronous.

    Args:
        method: A class decorated with ``@algorithm``.

    Example:
        >>> [check.__doc__ for check in checks_of(MyMethod)]
    """
    return asynchronous.CHECKS if method.properties.asynchronous else CHECKS


def check_algorithm(method: type[Algorithm]) -> None:
    """Run all checks on one method.

    Args:
        method: A class decorated with ``@algorithm``.

    Raises:
        CheckFailed: The first check that failed, with the reason.

    Example:
        >>> check_algorithm(MyMethod)
    """
    for check in checks_of(method):
        check(method)


def parametrize_with_checks(methods: Iterable[type[Algorithm]]) -> pytest.MarkDecorator:
    """Decorate a pytest function so that it becomes one test for each method and each check.

    Args:
        methods: Classes decorated with ``@algorithm``.

    Returns:
        A decorator for a test function with the arguments ``method`` and ``check``, whose body is ``check(method)``.
        A check that does not apply to the method is skipped.

    Example:
        >>> @parametrize_with_checks([MyMethod])
        ... def test_contract(method, check):
        ...     check(method)
    """
    import pytest  # a development dependency

    def skipping(check: Check) -> Callable[[type[Algorithm]], None]:
        @wraps(check)
        def checked(method: type[Algorithm]) -> None:
            if check(method) == SKIP:
                pytest.skip(f"{method.__name__} does not declare this")

        return checked

    cases = [
        pytest.param(method, skipping(check), id=f"{method.__name__}-{check.__name__}")
        for method in methods
        for check in checks_of(method)
    ]
    return pytest.mark.parametrize(("method", "check"), cases)
