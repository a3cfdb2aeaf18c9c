import pytest

from analysis.drawing.style import use_paper_style
from analysis.results.folder import load_folder
from tests.helpers import sweeps


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """One for all processes of the tests: whoever comes first makes it, as with any results folder."""
    return sweeps.make(tmp_path_factory.getbasetemp().parent / "sweeps")


@pytest.fixture(scope="session")
def results(folder):
    use_paper_style()
    return load_folder(folder)
