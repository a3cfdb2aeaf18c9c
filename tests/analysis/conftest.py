import pytest

from analysis.drawing.style import use
from analysis.results.folder import load_folder
from tests.analysis import sweeps


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return sweeps.make(tmp_path_factory.mktemp("sweeps"))


@pytest.fixture(scope="session")
def results(folder):
    use()
    return load_folder(folder)
