import os
from functools import cache

import pytest

from analysis import load
from analysis.drawing.style import use_paper_style
from analysis.figures import drawings
from analysis.results.folder import load_folder
from analysis.study.figure_options import FigureOptions
from tests.helpers import sweeps


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """One for all processes of the tests: whoever comes first makes it, as with any results folder."""
    base = tmp_path_factory.getbasetemp()
    return sweeps.make((base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "sweeps")


@pytest.fixture(scope="session")
def results(folder):
    use_paper_style()
    return load_folder(folder)


@pytest.fixture(scope="session")
def finals(folder):
    """The last rows, taken from the tidy table without the figures' help."""
    return load(folder).groupby("run_id").tail(1)


@pytest.fixture(scope="session")
def drawn(results):
    """A figure of these results, drawn once, whoever looks at it."""

    @cache
    def draw(name: str, **request: object):
        return drawings()[name].draw(results, FigureOptions(**request))

    return draw
