"""The reproduction is a plug-in, and nothing depends on it."""

import json
import subprocess
import sys

import pytest

from bench.base import registry
from bench.config.source import plugin_folders
from tests.helpers.cli import ROOT

ALONE = """
import json, sys
from bench.base import registry
registry.announced = lambda group: []
from analysis import check_claims, make_figures
from analysis.figures import drawings
from analysis.tables import table_makers
results, out = sys.argv[1:]
words = ["--results", results, "--out", out, "--format", "png", "--where", "dataset=digits"]
made = make_figures.main([*words, "--figure", "compare,stepsize,final"])
checked = check_claims.main(["--results", results])
brought = [name for name in sys.modules if name.partition(".")[0] == "reproduction"]
print(json.dumps([made, checked, [*drawings(), *table_makers()], brought]))
"""
ITS_OWN = {"speedup", "spike", "scale", "stretch", "released", "controls", "graphs", "variants"}


@pytest.mark.xdist_group("figures")
def test_analysis_works_without_it(folder, tmp_path):
    words = [sys.executable, "-c", ALONE, str(folder), str(tmp_path)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    made, checked, names, brought = json.loads(done.stdout.splitlines()[-1])
    assert (made, checked, brought) == (0, 2, [])
    assert not ITS_OWN & set(names)
    assert {"compare.png", "stepsize.png", "table_final.md"} <= {file.name for file in tmp_path.iterdir()}
    assert "'reproduction'" in done.stderr


@pytest.mark.parametrize("group", ["hearsay.plugins", "hearsay.analysis"])
def test_a_clone_that_was_installed_before_finds_it(group, monkeypatch, tmp_path):
    monkeypatch.setattr(registry, "entry_points", lambda group: ())
    assert [plugin.name for plugin in registry.announced(group)] == ["reproduction"]
    monkeypatch.setattr(registry, "ROOT", tmp_path)  # as in site-packages
    assert registry.announced(group) == []


def test_its_figures_do_without_torch():
    """The figure of the graphs is the only one that imports a module of bench.network."""
    code = "import sys, bench.network.drawing; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, timeout=100).returncode == 0


def test_its_experiments_are_on_the_search_path():
    assert ROOT / "reproduction" / "conf" in plugin_folders()


def test_analysis_has_no_word_of_its_method():
    words = ("dnasa", "d-nasa")
    files = [file for file in (ROOT / "analysis").rglob("*.*") if file.suffix in (".py", ".js", ".css", ".j2", ".yaml")]
    assert [file for file in files if any(word in file.read_text("utf-8").lower() for word in words)] == []
