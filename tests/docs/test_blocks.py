"""Every command and every Python block of the site is executed, or marked with the reason why it is not.

The comment ``<!-- not run: REASON -->`` stands on the line before a block.
"""

import re
import shlex

import pytest

from bench.config.plan import of_command
from hearsay_site.collect import listed_pages, pages_of_repository
from tests.helpers.cli import ROOT, python

BLOCK = re.compile(r"(?:<!-- not run: ([^>]+) -->\n)?^```(bash|python)\n(.*?)^```", re.DOTALL | re.MULTILINE)
EXECUTED = (
    "docs/start.md",
    "docs/tune.md",
    "docs/sweeps.md",
    "docs/methods.md",
    "docs/networks.md",
    "docs/topologies.md",
)
"""These pages run in this order in one folder, so that later ones find the runs of the first."""
ELSEWHERE = {
    "CONTRIBUTING.md": "tests/test_contributing.py executes it",
    "REPRODUCTION.md": "generated; the commands repeat experiments of full size",
    "docs/python.md": "the tests of the package hearsay execute it",
    "docs/board.md": "the commands compute the whole board",
}


def blocks(page: str) -> list[tuple[str, str, str]]:
    return BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))


def test_every_page_is_in_the_table_of_contents():
    assert set(pages_of_repository()) - listed_pages() == {"docs/index.md"}


def test_every_block_is_executed_or_marked():
    pages = [page for page in pages_of_repository() if page not in (*EXECUTED, *ELSEWHERE)]
    assert "docs/wandb.md" in pages
    assert [(page, body) for page in pages for reason, _, body in blocks(page) if not reason.strip()] == []


def test_the_runs_of_the_tutorial_are_those_of_its_command():
    text = (ROOT / "docs/start.md").read_text(encoding="utf-8")
    command, *_ = re.findall(r"^python bench/run.py -m (.*)$", text, re.MULTILINE)
    shown = set(re.findall(r"[a-z]+-[a-z]+-digits-s\d+-[0-9a-f]{8}\b", text))
    assert shown == {config.run_id for config in of_command(command.split())}


@pytest.mark.thorough
@pytest.mark.timeout(600)
def test_the_blocks_that_are_not_marked(tmp_path):
    ran = 0
    for page in EXECUTED:
        for reason, language, body in blocks(page):
            if reason:
                continue
            ran += 1
            if body.startswith("# file: "):
                name, _, text = body.removeprefix("# file: ").partition("\n")
                (tmp_path / name).write_text(text, encoding="utf-8")
            elif language == "python":
                (tmp_path / "block.py").write_text(f"import sys\nsys.path.insert(0, {str(ROOT)!r})\n{body}")
                follow("python block.py", tmp_path)
            else:
                for line in body.replace("\\\n", " ").splitlines():
                    follow(line, tmp_path)
    assert ran > len(EXECUTED)
    assert (tmp_path / "results/report.html").is_file()
    assert list((tmp_path / "results/figures").glob("compare.*"))


def follow(line, folder):
    words = shlex.split(line, comments=True)
    environment = {"PYTHONPATH": str(folder)}
    while words and "=" in words[0]:
        name, _, environment[name] = words.pop(0).partition("=")
    if words:
        assert words[0] == "python", line
        script = words[1] if (ROOT / words[1]).is_file() else str(folder / words[1])
        done = python(script, *words[2:], cwd=folder, at_most_s=300, **environment)
        assert done.returncode == 0, line + done.stdout + done.stderr
