from tests.analysis.conftest import drawn, finals, folder, results

__all__ = ["drawn", "finals", "folder", "results"]
