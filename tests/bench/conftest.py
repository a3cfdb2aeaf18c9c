from contextlib import ExitStack

import pytest

from bench.store.locks import Lock


@pytest.fixture
def new_lock():
    """Make locks that are released however the test ends."""
    with ExitStack() as stack:

        def make(path):
            lock = Lock(path)
            stack.callback(lock.release)
            return lock

        yield make
