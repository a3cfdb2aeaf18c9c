"""Fixtures: three simulated machines, started once and used by one test at a time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster import hosts


@pytest.fixture
def machines(three_machines: hosts.Hosts) -> Iterator[hosts.Hosts]:
    yield three_machines
    three_machines.tidy()


@pytest.fixture(scope="session")
def three_machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[hosts.Hosts]:
    if reason := hosts.lacking():
        pytest.skip(reason)
    with hosts.hosts(tmp_path_factory.mktemp("hosts")) as made:
        yield made
