"""Ranks wait by spinning, so only one pool of ranks runs at a time."""

import pytest

WITH_RANKS = ("test_failures.py", "test_launch.py", "test_pool.py", "test_same_numbers.py")


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.name in WITH_RANKS:
            item.add_marker(pytest.mark.xdist_group("mpi"))
