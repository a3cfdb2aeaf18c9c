"""The package itself: what it exports, and that its import is light."""

import inspect
import subprocess
import sys
import types

import pandas as pd
import pytest

import hearsay
from bench.base.registry import algorithms
from tests.helpers.cli import ROOT

HEAVY = ("torch", "pandas", "numpy", "matplotlib", "hydra", "rich", "bench", "analysis")


def test_import_is_light():
    code = f"import sys, hearsay; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr


def test_every_public_name_exists_and_is_no_module():
    assert set(hearsay.__all__) <= set(dir(hearsay))
    for name in hearsay.__all__:
        assert not isinstance(getattr(hearsay, name), types.ModuleType), name


@pytest.mark.parametrize("name", ["sweep", "load", "figure", "table", "methods", "plugin"])
def test_functions_are_documented(name):
    text = inspect.getdoc(getattr(hearsay, name)) or ""
    assert "Example:" in text
    assert "Returns:" in text
    assert f"hearsay.{name}" in (ROOT / "docs/python.md").read_text("utf-8")


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="swep"):
        _ = hearsay.swep


def test_methods_are_those_of_the_registry():
    found = hearsay.methods()
    assert isinstance(found, pd.DataFrame)
    assert set(found.index) == set(algorithms)
    row, declared = found.loc["dsgt"], algorithms["dsgt"].declare_for({})
    assert (row["vectors_per_step"], row["rounds"]) == (declared.vectors_per_step, declared.rounds)
    assert row["needs"].split(", ") == list(declared.needs)
    assert found.loc["dnasa", "needs"] == ""
    assert set(found["kind"]) == {"gossip", "compressed", "directed", "asynchronous", "reference"}
