"""A finished run that is repeated is never lost, whenever its process is killed."""

import json
import subprocess
import sys

import pytest

from tests.helpers.cli import ROOT

SCRIPT = """
import json, os, shutil, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import torch
from bench.store.earlier import EARLIER, FILES
from bench.store.run_folder import RunFolder
from bench.sweep.sweep import run_sweep
from tests.helpers.claims import QUIET, content
from tests.helpers.configs import config

torch.set_num_threads(1)
place, runs = Path(sys.argv[2]), int(sys.argv[3])
CHANGES = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link")


def configs(results, **more):
    return [config(algo="dsgd", seed=seed, steps=20, results=str(results), **more) for seed in range(runs)]


def repeated(results, last):
    count = 0

    def hook(event, args):
        nonlocal count
        writes = event == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR)
        if (event in CHANGES or writes) and str(results / "runs") in str(args[0]):
            count += 1
            if count == last:
                os._exit(9)

    sys.addaudithook(hook)
    run_sweep(configs(results, force=True), QUIET)
    os._exit(0)


def kept(folder, before):
    files = {name: text for name, text in content(folder).items() if name in FILES}
    return files == {name: text for name, text in before.items() if name in FILES}


run_sweep(configs(place / "first"), QUIET)
found = {"kills": 0, "finished": 0, "earlier": 0, "lost": [], "left": [], "other": []}
step, end = 1, False
while not end:
    results = place / str(step)
    shutil.copytree(place / "first", results)
    folders = [RunFolder(c) for c in configs(results)]
    before = {folder.path: content(folder.path) for folder in folders}
    if (pid := os.fork()) == 0:
        repeated(results, step)
    end = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    found["kills"] += not end
    for folder in folders:
        if folder.final:
            found["finished"] += 1
        elif (folder.path / EARLIER).is_dir() and kept(folder.path / EARLIER, before[folder.path]):
            found["earlier"] += 1
        else:
            found["lost"].append(step)
    states = [result.state for result in run_sweep(configs(results), QUIET)]
    found["other"] += [step] if states != ["done"] * runs else []
    found["left"] += [step for folder in folders if list(folder.path.glob("*" + EARLIER))]
    shutil.rmtree(results)
    step += int(sys.argv[4])
print(json.dumps(found))
"""


@pytest.mark.thorough
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("runs", "every"), [(1, 1), (3, 5)])
def test_a_repeated_run_that_is_killed_at_any_file_operation_is_not_lost(runs, every, tmp_path):
    words = [sys.executable, "-c", SCRIPT, str(ROOT), str(tmp_path), str(runs), str(every)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert (found["lost"], found["left"], found["other"]) == ([], [], [])
    assert found["kills"] >= 15
    assert min(found["finished"], found["earlier"]) >= 5
