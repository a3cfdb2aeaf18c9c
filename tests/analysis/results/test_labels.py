"""Imports of the analysis."""

import subprocess
import sys


def test_statistics_and_tables_import_no_matplotlib():
    program = """
import importlib, pkgutil, sys
for package in ("results", "study", "tables"):
    path = importlib.import_module(f"analysis.{package}").__path__
    for module in pkgutil.walk_packages(path, f"analysis.{package}."):
        importlib.import_module(module.name)
assert not {"matplotlib", "seaborn"} & sys.modules.keys()
"""
    subprocess.run([sys.executable, "-c", program], check=True)
