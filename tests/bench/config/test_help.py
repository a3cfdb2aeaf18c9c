"""The help of bench/run.py lists everything that can be typed, and nothing that is rejected."""

import argparse
import re

import pytest

from bench.base.registry import algorithms
from bench.config import flags
from bench.config.choices import members, options_of
from bench.config.help import add_flags, names, page
from bench.config.names import CONF
from bench.config.plan import of_command
from bench.config.reference import described
from bench.config.run_config import GROUPS, RunConfig
from bench.config.source import USUAL
from tests.helpers.cli import fresh
from tests.helpers.few import few


def entries(text):
    """Return SETTING=VALUE and GROUP=MEMBER with their descriptions."""
    text = re.sub(r"\n {8,}", " ", text)
    return dict(re.findall(r"^  (\w+=\S+) +(.*)$", text, re.MULTILINE))


def shipped(group):
    """Return the members with a file in conf: tests in this process may have registered others."""
    return [name for name in members(group) if (CONF / group / f"{name}.yaml").is_file()]


@pytest.fixture(scope="module")
def listed():
    return entries(page("", USUAL))


def test_lists_every_setting_and_every_group_with_all_members(listed):
    keys = {entry.partition("=")[0]: text for entry, text in listed.items()}
    assert set(keys) == {*RunConfig.__annotations__, "experiment"}
    for group in GROUPS:
        assert keys[group].partition("Members: ")[2].split(", ") == shipped(group)
        assert names(group, USUAL) == shipped(group)
    assert all(keys.values())


def test_accepts_all_defaults_that_are_listed(listed):
    defaults = [entry for entry in listed if "=NAME" not in entry]
    assert of_command(defaults)
    assert "example" in names("experiment", USUAL)


@pytest.mark.parametrize("group", few(GROUPS, ["compressor", "engine", "loss"]))
def test_composes_every_member_that_is_listed(group):
    assert len(of_command([f"{group}={','.join(names(group, USUAL))}"])) == len(shipped(group))


@pytest.mark.parametrize("words", ["-m", "--cfg job", "--cfg job -p algo --resolve", "-i", "--info=plugins", "-h"])
def test_accepts_the_flags(words):
    assert flags.read(words.split())


def test_lists_only_flags_that_hydra_reads():
    parser = argparse.ArgumentParser(add_help=False)
    add_flags(parser)
    for action in parser._actions:
        assert action.help
        for flag in action.option_strings:
            if flag not in ("--resolve", "-p", "--package", "--version"):  # they go with another, or end at once
                value = {"-c": ["job"], "--cfg": ["job"]}.get(flag, [])
                assert flags.read([flag, *value])


def test_imports_nothing_large(tmp_path):
    done = fresh("bench/run.py", "--help", cwd=tmp_path, PYTHONPROFILEIMPORTTIME="1")
    assert done.returncode == 0
    assert entries(done.stdout)
    assert "torch" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_lists_members_of_plug_ins_and_of_folders(tmp_path):
    (tmp_path / "mine.py").write_text(
        "from algorithms.dsgd import DSGD\nfrom bench.base.registry import algorithms\nalgorithms.add('my_dsgd', DSGD)"
    )
    (tmp_path / "more/algo").mkdir(parents=True)
    (tmp_path / "more/algo/fast.yaml").write_text("name: dsgd\neta: 0.3\n")
    environment = {"PYTHONPATH": str(tmp_path), "HEARSAY_PLUGINS": "mine"}
    done = fresh("bench/run.py", "--help", "--config-dir", "more", cwd=tmp_path, **environment)
    (known,) = (text for entry, text in entries(done.stdout).items() if entry.startswith("algo="))
    assert {*algorithms, "my_dsgd", "fast"} == {*known.partition("Members: ")[2].split(", ")}


@pytest.mark.parametrize("group", GROUPS)
def test_every_option_of_every_member_is_described(group):
    for name in shipped(group):
        found = described(CONF / group / f"{name}.yaml")
        assert [option for option in options_of(group, name) if not found[option].comment] == []


def test_comments_may_take_several_lines(tmp_path):
    (tmp_path / "one.yaml").write_text("# title\na: 1   # first\n       # second\nb: null\n  - c: d  # e\n# end\n")
    assert described(tmp_path / "one.yaml") == {"a": ("1", "first second"), "b": ("null", ""), "c": ("d", "e")}
