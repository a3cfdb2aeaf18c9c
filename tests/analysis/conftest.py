import os

import pytest

from analysis.drawing.style import use_paper_style
from analysis.results.folder import load_folder
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
