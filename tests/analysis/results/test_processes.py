"""Pieces of work in several processes."""

import signal
import subprocess
import sys

import pytest

from tests.helpers.cli import ROOT

SCRIPT = """
import time
from functools import partial
from analysis.results.processes import on_all_cores

for _ in on_all_cores([partial(print, "ready", flush=True), *[partial(time.sleep, 0.1)] * 3, partial(time.sleep, 60)]):
    pass
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems use one process")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_processes_end_when_the_command_is_killed(number):
    command = [sys.executable, "-c", SCRIPT]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        process.communicate(timeout=20)  # the processes hold its output
    assert process.returncode == -number
