"""Parameters of which only a few are tried by make test."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def few(cases: Iterable[Any], quick: Collection[Any]) -> list[Any]:
    """All cases for ``parametrize``; those that are not among the quick ones are thorough."""
    cases = list(cases)
    assert all(case in cases for case in quick), "a quick case is no case"
    return [case if case in quick else _thorough(case) for case in cases]


def _thorough(case: Any) -> Any:
    values = case if isinstance(case, tuple | list) else (case,)
    return pytest.param(*values, marks=pytest.mark.thorough)
