"""Worlds of ranks wait by spinning: one at a time."""

import pytest

WORLDS = ("test_failures.py", "test_launch.py", "test_pool.py", "test_same_numbers.py")


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.name in WORLDS:
            item.add_marker(pytest.mark.xdist_group("mpi"))
