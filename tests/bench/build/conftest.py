import pytest

from bench.config.choices import options_of
from tests.helpers.trial_plugins import isolate


@pytest.fixture
def alone(monkeypatch):
    """Nothing but plug-ins that the test registers, and no remembered options of theirs."""
    isolate(monkeypatch)
    options_of.cache_clear()
    yield
    options_of.cache_clear()
