"""Names and directions, without anything that draws."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("package", ["results", "study", "tables"])
def test_statistics_and_tables_import_no_matplotlib(package):
    program = f"""
import importlib, pkgutil, sys
import analysis.{package} as package
for module in pkgutil.walk_packages(package.__path__, "analysis.{package}."):
    importlib.import_module(module.name)
assert not {{"matplotlib", "seaborn"}} & sys.modules.keys()
"""
    subprocess.run([sys.executable, "-c", program], check=True)
