"""Garbage collection while a command starts, and streams that cannot be written to."""

import gc
import subprocess
import sys

import pytest

from bench.terminal.command import command, resume
from tests.helpers.cli import ROOT, fresh

SCRIPT = """
import gc
from bench.terminal.command import begin, command
begin()
print(gc.isenabled())
command(lambda: print(gc.isenabled(), gc.get_freeze_count() > 0))()
"""


def test_garbage_collection_is_off_during_imports(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    done = fresh(tmp_path / "script.py", PYTHONPATH=str(ROOT))
    assert (done.stdout, done.stderr) == ("False\nTrue True\n", "")


@pytest.mark.parametrize(
    ("word", "advice"), [("seed=1", "Repeat the command to"), ("force=True", "without force=true")]
)
def test_a_forced_command_resumes_without_force(word, advice, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["run.py", "-m", word])
    assert advice in resume()


def test_a_main_called_by_another_program_does_not_freeze_its_objects():
    before = gc.get_freeze_count()
    assert command(gc.get_freeze_count)() == before


PRINTS = """
import os, sys
from bench.terminal.command import begin, command, say
begin()
os.chdir(sys.argv[1])
first = open("first", "w")
def main():
    for number in range(3):
        print("out", number, flush=True)
        say("err")
    sys.stdout.isatty()
    os.system("echo of another program; echo of another program >&2")
    return 7
code = command(main)()
open("after", "w").close()
sys.exit(code)
"""


@pytest.mark.parametrize("streams", [">/dev/full", ">/dev/full 2>/dev/full", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_command_goes_on_if_its_output_cannot_be_written(streams, tmp_path):
    (tmp_path / "script.py").write_text(PRINTS)
    line = f"PYTHONPATH='{ROOT}' '{sys.executable}' '{tmp_path}/script.py' '{tmp_path}' {streams}"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True)
    assert (done.returncode, (tmp_path / "after").exists()) == (7, True), done.stderr
    assert (tmp_path / "first").read_text() == ""  # it has not become a standard stream
    assert ("No space left" in done.stderr) == (streams == ">/dev/full"), done.stderr
