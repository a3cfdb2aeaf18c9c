"""The recipes of CONTRIBUTING.md, followed to the letter in a copy of the repository."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from sklearn.datasets import load_diabetes

from bench.contracts.methods import CHECKS
from tests.helpers.cli import ROOT, python

BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)


@pytest.mark.thorough
@pytest.mark.timeout(240)
def test_every_recipe(tmp_path):
    copy = tmp_path / "hearsay"
    for folder in ("algorithms", "analysis", "bench", "benchmarks", "conf", "datasets", "reproduction"):
        shutil.copytree(ROOT / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__", "archive"))
    load_diabetes(as_frame=True).frame.rename(columns={"target": "price"}).to_csv(copy / "mine.csv", index=False)
    ran = []
    for language, body in BLOCK.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")):
        if language in ("python", "yaml"):
            write(copy, body)
        elif language == "bash":
            ran += [follow(copy, line) for line in body.splitlines()]
    assert any("\n  FAIL" not in out and len(re.findall("\n  (?:PASS|SKIP)", out)) == len(CHECKS) for out in ran)
    assert any(out.startswith("newest") and "\n  FAIL" not in out and "\n  PASS" in out for out in ran)
    assert len(list((copy / "results" / "runs").glob("newest-*"))) == 1
    assert any(re.search("PASS .*50 steps .*nesterov_rule.py:nesterov", out) for out in ran)
    assert any(re.search(r"\b\d+ passed", out) for out in ran)
    assert any("wheel: 9 nodes, 16 edges" in out for out in ran)
    assert len(list((copy / "results" / "runs").glob("nesterov-wheel-blobs-*"))) == 1
    assert any("my_figure " in out and "→ my_figure.png" in out for out in ran)
    assert "distance from the origin" in (copy / "results" / "figures" / "table_final.md").read_text()
    assert any("short_trips: holds" in out for out in ran)
    assert any("test_rmse" in out and "model.kwargs.width" in out for out in ran)


def write(copy: Path, body: str) -> None:
    first, rest = body.split("\n", 1)
    if first.startswith("# append to: "):
        with (copy / first.removeprefix("# append to: ")).open("a", encoding="utf-8") as stream:
            stream.write(rest)
    else:
        (copy / first.removeprefix("# file: ")).write_text(rest, encoding="utf-8")


def follow(copy: Path, line: str) -> str:
    words = shlex.split(line)
    environment: dict[str, str] = {}
    while "=" in words[0]:
        name, _, environment[name] = words.pop(0).partition("=")
    assert words[0] == "python"
    if words[1] == "-m":
        done = subprocess.run([sys.executable, *words[1:]], cwd=copy, capture_output=True, text=True, timeout=120)
    else:
        done = python(str(copy / words[1]), *words[2:], cwd=copy, **environment)
    assert done.returncode == 0, line + done.stdout + done.stderr
    return done.stdout


def test_the_recipe_for_an_algorithm_is_as_short_as_promised():
    body = next(body for _, body in BLOCK.findall((ROOT / "CONTRIBUTING.md").read_text()) if "class Nesterov" in body)
    code = [line for line in body.splitlines() if line.strip() and not line.startswith(("#", '"""', "import", "from"))]
    assert len(code) <= 20


def test_the_recipe_for_a_model_and_a_file_is_as_short_as_promised():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    blocks = BLOCK.findall(text[text.index("### Bring your own model and file") :])[:2]
    lines = [line for _, body in blocks for line in body.splitlines() if line and not line.startswith("#")]
    assert len(lines) <= 5
