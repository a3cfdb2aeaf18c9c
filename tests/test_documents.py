"""What the pages show is what the commands on them give."""

import datetime
import re

import pytest
import yaml

from bench import __version__
from bench.base.registry import algorithms
from bench.config.plan import of_command
from bench.contracts.methods import CHECKS
from tests.helpers.cli import ROOT, python, typed

RUN = re.compile(r"[a-z0-9_]+-[a-z_]+-[a-z0-9_]+-s\d+-[0-9a-f]{8}\b")


def test_the_runs_in_the_readme_are_those_of_its_command():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    command = "algo=dnasa,dsgt topology=ring,complete"
    assert f"python bench/run.py -m {command}\n" in text
    assert set(RUN.findall(text)) == {config.run_id for config in of_command(command.split())}


def test_the_runs_on_the_page_of_sweeps_are_those_of_its_settings():
    text = (ROOT / "docs/sweeps.md").read_text(encoding="utf-8")
    earlier = "algo.eta=0.01 algo.schedule=diminishing"
    assert f"`{earlier}`" in text
    runs = "dataset=a9a steps=5000"
    commands = (f"algo=dnasa {runs}", f"algo=dsgd,dsgt {earlier} {runs}")
    assert set(RUN.findall(text)) == {config.run_id for each in commands for config in of_command(each.split())}


def test_the_readme_has_two_screens_and_leads_to_every_page():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 120
    pages = [*ROOT.glob("*.md"), ROOT / "docs/index.md", ROOT / "reproduction/README.md"]  # index.md leads to docs/*.md
    for page in pages:
        name = page.relative_to(ROOT).as_posix()
        assert name == "README.md" or f"]({name})" in text, name


def test_the_readme_shows_a_short_method_and_counts_methods_and_checks():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```python\n(.*?)\n```", text, re.DOTALL)
    assert len([line for line in shown.splitlines() if line.strip()]) <= 15
    assert f" {len(CHECKS)} mathematical checks" in text
    assert f"It ships {len(list(algorithms))} methods" in text
    assert "\nmake test " in text


@pytest.mark.thorough
@pytest.mark.timeout(300)
def test_the_method_of_the_readme_passes_its_checks_and_is_drawn_beside_dnasa(tmp_path):
    """All commands below the method, with fewer steps."""
    own = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Your own method")[2]
    blocks = dict(re.findall(r"```(python|bash)\n(.*?)\n```", own, re.DOTALL))
    (tmp_path / "mine.py").write_text(blocks["python"], encoding="utf-8")
    plugin, *commands = blocks["bash"].splitlines()
    name, _, module = plugin.removeprefix("export ").partition("=")
    outputs = []
    for command in commands:
        _, script, *words = command.split()
        words += ["steps=20", "tracker=none"] if script == "bench/run.py" else []
        done = python(script, *words, cwd=tmp_path, **{name: module, "PYTHONPATH": str(tmp_path)})
        assert done.returncode == 0, command + done.stdout + done.stderr
        outputs.append(done.stdout)
    assert "FAIL" not in outputs[0]
    assert len(re.findall("^  (?:PASS|SKIP)  ", outputs[0], re.MULTILINE)) == len(CHECKS)
    assert "6 runs (6 done), seeds 0–2 → compare.pdf" in outputs[-1]
    assert (tmp_path / "results/mine/figures/compare.pdf").exists()


LINK = re.compile(r"\]\(([^)\s]+)\)|src=\"([^\"]+)\"")


@pytest.mark.parametrize("page", ["README.md", "reproduction/README.md", "docs/methods.md", "docs/settings.md"])
def test_links_lead_to_files(page):
    for link in ("".join(found) for found in LINK.findall((ROOT / page).read_text(encoding="utf-8"))):
        assert "://" in link or ((ROOT / page).parent / link.partition("#")[0]).exists(), link


def test_the_citation_names_this_version_and_the_paper():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= set(cited)
    assert cited["version"] == __version__
    assert datetime.date.fromisoformat(cited["date-released"])
    (paper,) = cited["references"]
    (number,) = (entry["value"] for entry in paper["identifiers"] if entry["value"].startswith("arXiv:"))
    assert paper["url"] == f"https://arxiv.org/abs/{number.removeprefix('arXiv:')}"
    assert [author["family-names"] for author in paper["authors"]] == ["Li", "Chen", "Ma", "Hong"]
    assert all(author["given-names"] for author in paper["authors"])


NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def test_the_run_shown_by_the_viewer_of_wandb_has_its_present_name():
    text = (ROOT / "docs/wandb.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"ID: (\S+)\n.*?│ +(\w{3})\n", text)
    command = "algo=dnasa,dsgt topology=ring,complete dataset=synthetic"
    assert f"`{command}`" in text
    assert "".join(shown) in {config.run_id for config in of_command(command.split())}


@pytest.mark.thorough
@pytest.mark.timeout(180)
def test_the_table_of_graphs_is_what_its_command_prints(tmp_path):
    """The numbers to the third digit; the drawings to what a processor may round."""
    done = typed("--table", "topologies", script="bench/topology.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() in (ROOT / "docs/topologies.md").read_text(encoding="utf-8")
    for drawing in sorted((tmp_path / "topologies").iterdir()):
        ours, kept = (path.read_text("utf-8") for path in (drawing, ROOT / "docs/topologies" / drawing.name))
        assert NUMBER.sub("", ours) == NUMBER.sub("", kept), drawing.name
        there, then = ([float(word) for word in NUMBER.findall(text)] for text in (ours, kept))
        assert there == pytest.approx(then, abs=0.5), drawing.name
