"""bench/methods.py: the table and the pages of the methods, and sweeps over several of them."""

import inspect
import io
import re
import textwrap

import pytest

from bench.base.provenance import PROVENANCE
from bench.base.registry import algorithms
from bench.config.choices import members
from bench.config.names import CONF
from bench.config.plan import of_command
from bench.config.reference import ELSEWHERE, settings_page
from bench.config.run_config import GROUPS
from bench.contracts.methods import CHECKS
from bench.methods import columns, example, mark_notes, page, show_all
from bench.sweep.preflight import checked
from bench.terminal.console import Console
from tests.helpers.cli import ROOT, typed
from tests.helpers.few import few
from tests.helpers.mentions import mentions
from tests.helpers.run_folders import folders
from tests.messages import HIDDEN


def test_docs_methods_has_the_table_that_the_command_prints(tmp_path):
    done = typed("--markdown", script="bench/methods.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    page = (ROOT / "docs/methods.md").read_text(encoding="utf-8")
    assert f"\n{done.stdout.strip()}\n\n" in page
    for link in re.findall(r"\]\((\.\./algorithms/\w+\.py)\)", done.stdout):
        assert (ROOT / "docs" / link).is_file()
    assert f"hearsay has {len(list(algorithms))} methods." in page
    assert f"runs {len(CHECKS)} checks" in page


def test_docs_settings_is_what_the_command_prints(tmp_path):
    done = typed("--settings", script="bench/methods.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == (ROOT / "docs/settings.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("group", GROUPS)
def test_the_page_of_settings_documents_every_member(group):
    """Each member of a group has a row; methods have a page of their own."""
    section = settings_page().partition(f"\n## {group}\n")[2].partition("\n## ")[0]
    assert "Default: `" in section
    shipped = [name for name in members(group) if (CONF / group / f"{name}.yaml").is_file()]
    for name in shipped if group not in ELSEWHERE else ():
        assert re.search(rf"^\| `{name}` \| .* \| .*\|$", section, re.MULTILINE), name


@pytest.mark.parametrize("width", [80, 120, 400])
def test_a_table_is_never_cut(width):
    said = io.StringIO()
    show_all(Console(file=said, width=width, force_terminal=True, color_system=None))
    text = said.getvalue()
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    for name in algorithms:
        assert re.search(rf"│ {name} ", text)
    assert bool(re.search(f"{HIDDEN}.*: cite", text)) == (width < 400)
    if width == 400:
        assert all(cell in text for cells in columns().values() for cell in cells)


def test_a_page_has_rule_cost_needs_and_options():
    text = "\n".join(page("dnasa"))
    for part in (
        "X̃ = X − η_t unit(Z)",
        "needs to know only n and T",
        "algo.multiplier=1.0",
        "mean u = mean v",
        "invariant to scaling f",
        "Li et al. 2024",
        "python bench/run.py algo=dnasa dataset=digits",
    ):
        assert part in text, part
    assert mentions(text, "h is t", "(diminishing)", "T (fixed)")
    assert mentions(text, "sends 3 vectors", "1 round", "1 gradient", "1 sample")
    assert "2 vectors, compressed" in "\n".join(page("beer"))
    assert "1 vector and 1 number" in "\n".join(page("sgp"))
    assert "rule read in  memory" in "\n".join(page("push_pull"))
    for name, ranked in (("gt_adam", True), ("push_pull", False)):
        (line,) = (line for line in page(name) if line.startswith("  status"))
        assert PROVENANCE[algorithms[name].properties.provenance] in line
        assert ("not ranked" in line) != ranked
    assert "algo.nesterov=false" in "\n".join(page("qg_dsgdm"))


def test_the_table_marks_methods_that_are_not_ranked():
    found = columns()
    marks = {name: cell.partition(" ")[2] for name, cell in zip(found["method"], found["rule"], strict=True)}
    assert marks == {name: algorithms[name].properties.mark for name in algorithms}
    assert set(marks.values()) == {"", "†", "‡"}
    assert [note[0] for note in mark_notes()] == ["†", "‡"]


@pytest.mark.parametrize("name", few(algorithms, ["dnasa", "choco", "adam"]))
def test_the_command_of_a_page_can_be_run_and_its_options_are_those_of_the_yaml(name):
    assert len("\n".join(page(name))) > 500
    (config,) = of_command(example(algorithms[name]).split()[2:], checked)
    cls = algorithms[name]
    defaults = {key: option.default for key, option in cls.options().items()}
    assert config.algo.options == defaults


@pytest.mark.parametrize("name", list(algorithms))
def test_documents_the_idea_and_then_the_rule(name):
    idea, rule = inspect.cleandoc(algorithms[name].__doc__).split("\n\n")
    assert idea.endswith(".")
    assert "\n" not in idea
    assert re.search("[=←]", rule)
    assert rule in "\n".join(textwrap.dedent(line) for line in "\n".join(page(name)).splitlines())


def test_a_page_has_no_arguments_of_stepsizes():
    assert not [name for name in algorithms if "Args:" in "\n".join(page(name))]


def test_rejects_an_unknown_method(tmp_path):
    done = typed("gt_nsgd", script="bench/methods.py", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert mentions(done.stderr, "'gt_nsgd'", "'gt_nsgdm'")


def test_a_sweep_skips_and_reports_invalid_combinations(tmp_path):
    words = "-m algo=dsgd,d2,adam topology=ring,complete dtype=float64 steps=10 engine=stacked tracker=none"
    done = typed(*words.split(), cwd=tmp_path)
    assert done.returncode == 1
    assert "2 of 6 configurations" in done.stderr
    assert "-0.3333" in done.stderr
    assert "adam" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("2 configurations were skipped")
    made = sorted(folder.name.rsplit("-", 1)[0] for folder in folders(tmp_path / "results"))
    assert made == [
        *("adam-complete-digits-s0", "d2-complete-digits-s0"),
        *("dsgd-complete-digits-s0", "dsgd-ring-digits-s0"),
    ]


def test_rejects_a_sweep_without_a_valid_combination(tmp_path):
    done = typed(*["-m", "algo=adam,storm", "topology=ring,ladder"], cwd=tmp_path)
    assert (done.returncode, done.stdout, list(tmp_path.iterdir())) == (2, "", [])
    assert done.stderr.count("topology=all_reduce") == 4


def test_an_invalid_value_stops_a_sweep_before_it_starts(tmp_path):
    done = typed(*["-m", "algo=adam,dsgd", "topology=ring,complete", "batch_size=0,1"], cwd=tmp_path)
    assert (done.returncode, done.stdout, list(tmp_path.iterdir())) == (2, "", [])
    assert "batch_size" in done.stderr
