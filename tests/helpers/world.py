"""A world of two ranks for all tests that need one, started once: ranks import torch, and wait by spinning."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from bench.config.run_config import RunConfig, parse
from bench.engine.pool import Pool
from bench.training.observer import Observer
from tests.helpers.cli import ROOT
from tests.helpers.processes import MARK

PLUGINS = "tests.helpers.generous,tests.helpers.trouble"


class Ranks:
    """Two ranks that know the plug-ins of the tests, and bear a mark."""

    def __init__(self, pool: Pool) -> None:
        self._pool, self.mark = pool, uuid.uuid4().hex

    def run(self, config: RunConfig, observer: Observer, **changes: Any) -> None:
        with pytest.MonkeyPatch.context() as patch:  # for ranks that are yet to be started
            patch.setenv(MARK, self.mark)
            patch.setenv("HEARSAY_PLUGINS", PLUGINS)
            patch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
            self._pool.run([parse({**config.plain(), "engine": {"name": "mpi"}, "ranks": 2, **changes})], observer)


@contextmanager
def two_ranks() -> Iterator[Ranks]:
    with closing(Pool()) as pool:
        yield Ranks(pool)
