"""Worlds of ranks wait by spinning: one at a time."""

import pytest


def pytest_collection_modifyitems(items):
    for item in items:
        if "tests/mpi/" in item.path.as_posix():
            item.add_marker(pytest.mark.xdist_group("mpi"))
