"""Tests run side by side, one per core: none may take more than one; and only those of W&B use W&B."""

import os
import signal

import pytest

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # as below nohup: what the tests start would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["WANDB_MODE"] = "disabled"


def patience(item: pytest.Item) -> float:
    """Seconds that a test may take."""
    mark = item.get_closest_marker("timeout")
    return mark.args[0] if mark else float(item.config.getini("timeout"))


@pytest.fixture(scope="session")
def ranks():
    from tests.helpers.world import two_ranks  # torch is not for the process that only hands out tests

    with two_ranks() as ranks:
        yield ranks


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The longest come first, so that all cores end together; and tests of a group stay on one of them.

    pytest-xdist 3.8 tells its scheduler of a group by the end of a test's name, and writes it where
    pytest 9.2 no longer looks.
    """
    items.sort(key=patience, reverse=True)
    if config.getoption("loadgroup", False):
        for item in items:
            group = "_".join(sorted({str(mark.args[0]) for mark in item.iter_markers("xdist_group")}))
            if group and not item.nodeid.endswith(f"@{group}"):
                item._id = type(item._id).parse(f"{item.nodeid}@{group}")
                assert item.nodeid.endswith(f"@{group}")
