"""Garbage collection while a command starts."""

import gc

from bench.terminal.command import command
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


def test_a_main_called_by_another_program_does_not_freeze_its_objects():
    before = gc.get_freeze_count()
    assert command(gc.get_freeze_count)() == before
