"""Registries and caches for tests that define plug-ins."""

import pytest

from bench.base.registry import discover, metrics
from bench.build import probe, rehearsal
from bench.build.global_draws import KINDS
from bench.sweep import preflight


def isolate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a test register plug-ins of all kinds; its end removes them, and what hearsay remembers of them."""
    discover()
    for registry in KINDS:
        monkeypatch.setattr(registry, "_items", dict(registry._items))
    for module in (rehearsal, preflight):
        monkeypatch.setattr(module, "_passed", set())
    monkeypatch.setattr(probe, "_known", {})
    metrics._items.clear()
