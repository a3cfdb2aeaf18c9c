"""Code that misbehaves, is edited under way, or shares a folder with a process that has stopped."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq

from tests.faults.table import fault
from tests.helpers.cli import ROOT, python
from tests.messages import KILLED

OUTCOMES = {
    "segfault": (KILLED,),
    "ctrl_c": ("KeyboardInterrupt",),
    "no_memory": ("has no memory left",),
    "no_locks": ("no locks to give",),
    "long_words": ("in the log",),
    "recursion": ("RecursionError: maximum recursion depth exceeded",),
    "no_file": ("FileNotFoundError: [Errno 2] No such file or directory: 'a file of mine'",),
    "no_server": ("ConnectionRefusedError: [Errno 111] Connection refused",),
    "no_files_left": ("(ulimit -n)",),
    "shape": ("RuntimeError: ",),
    "raise": ("ValueError: the last rank has had enough",),
    "exit": ("SystemExit: 3",),
    "vanish": (KILLED,),
    "kill": (KILLED,),
    "babble": ("malformed message",),
    "hang": ("progress for 3 s",),
}
"""Each way to misbehave, and what the failed run must say; the same for both engines."""
YAML = "name: trouble\nschedule: diminishing\neta: 0.01\nhow: none\n"
SIZES = ("steps=40", "eval_every=5", "dataset=synthetic", "dataset.evaluation=50", "nodes=4", "tracker=none")
NAMED, GOES_ON = "the run fails, and the error gives the reason", "the correct run is done"


def misbehaving(ways: list[str], engine: str, folder: Path) -> Counter[str]:
    """One sweep over these ways and one run that behaves; every failure is judged by its sentence."""
    (folder / "conf" / "algo").mkdir(parents=True)
    (folder / "conf" / "algo" / "trouble.yaml").write_text(YAML)
    words = [f"algo.how={','.join([*ways, 'none'])}", f"engine={engine}", "engine.timeout_s=3"]
    words += ["ranks=2"] if engine == "mpi" else []
    done = python(
        "bench/run.py", "-m", "algo=trouble", *words, *SIZES, f"hydra.searchpath=[file://{folder}/conf]",
        cwd=folder, at_most_s=60 + 20 * len(ways), HEARSAY_PLUGINS="tests.helpers.trouble", PYTHONPATH=str(ROOT),
    )  # fmt: skip
    seen: Counter[str] = Counter()
    states = {}
    for run in (folder / "results" / "runs").iterdir():
        how = json.loads((run / "summary.json").read_text())["how"]
        states[how] = json.loads((run / "status.json").read_text())
    for how in ways:
        status = states.get(how, {})
        told = str(status.get("error"))
        good = status.get("state") == "failed" and how in OUTCOMES
        if how == "long_words":  # whole in the log, shortened on the terminal
            good &= len(told) > 100_000 and "in the log" in done.stdout and len(done.stdout) < 20_000
        else:
            good &= any(words in told for words in OUTCOMES[how])
        seen[NAMED if good else f"{how}: {status.get('state')}, {told[:80]}"] += 1
    after = states.get("none", {}).get("state")
    seen[GOES_ON if after == "done" and done.returncode == 1 else f"none: {after}, {done.stderr[-200:]}"] += 1
    return seen


def _some(trials: int) -> list[str]:
    return list(OUTCOMES)[: trials - 1]


@fault("Plug-ins", f"MPI ranks run a method that fails in {len(OUTCOMES)} ways, and then a correct method",
       allowed=(NAMED, GOES_ON), quick=0, full=len(OUTCOMES) + 1)  # fmt: skip
def misbehaving_on_ranks(trials: int, folder: Path) -> Counter[str]:
    return misbehaving(_some(trials), "mpi", folder)


@fault("Plug-ins", "engine=stacked runs the same methods",
       allowed=(NAMED, GOES_ON), quick=0, often=len(OUTCOMES) + 1, full=len(OUTCOMES) + 1)  # fmt: skip
def misbehaving_stacked(trials: int, folder: Path) -> Counter[str]:
    return misbehaving(_some(trials), "stacked", folder)


HOW = {
    "mpi, warm ranks": ("engine=mpi", "ranks=1"),
    "stacked": ("engine=stacked",),
    "mpi, one world a run": ("engine=mpi", "engine.pool=false", "ranks=2"),
    "mpi, two jobs": ("engine=mpi", "jobs=2", "ranks=1"),
    "stacked, two jobs": ("engine=stacked", "jobs=2", "engine.memory_gb=1e-9"),
}
RIGHT = "each run is correct or failed, and the error names the file; after the command is repeated, all are correct"


@fault("Source", "the file of a method is edited after the first run of a sweep, with five settings of engine and jobs",
       allowed=(RIGHT,), quick=0, often=1, full=len(HOW))  # fmt: skip
def edited_source(trials: int, folder: Path) -> Counter[str]:
    seen: Counter[str] = Counter()
    for number in range(trials):
        name = list(HOW)[number % len(HOW)]
        seen[_edited(HOW[name], folder / str(number))] += 1
    return seen


def _edited(how: tuple[str, ...], home: Path) -> str:
    """Run a sweep of three in a copy of the suite, edit D-SGD after its first run, restore it, run again."""
    for part in ("bench", "algorithms", "datasets", "conf"):
        shutil.copytree(ROOT / part, home / part, ignore=shutil.ignore_patterns("__pycache__"))
    command = [str(home / "bench" / "run.py"), "-m", "algo=dsgd", "algo.eta=0.01", "seed=0,1,2", *how, *SIZES]
    command += ["steps=300", "eval_every=50", "results=" + str(home / "results")]
    method = home / "algorithms" / "dsgd.py"
    before = method.read_text()
    sweep = subprocess.Popen(
        [sys.executable, *command], cwd=home, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert sweep.stdout is not None
    output = ""
    for line in sweep.stdout:
        output += line
        if "[1/3]" in line and method.read_text() == before:
            method.write_text(before.replace("self.eta[t] * g", "2 * self.eta[t] * g"))
    sweep.communicate(timeout=300)
    assert method.read_text() != before, output
    method.write_text(before)
    runs = {}
    for run in (home / "results" / "runs").iterdir():
        status = json.loads((run / "status.json").read_text())
        if status["state"] == "failed" and "algorithms/dsgd.py, edited since" not in status["error"]:
            return f"failed for another reason: {status['error']}"
        if status["state"] == "done":
            runs[run.name] = _losses(run)
    again = python(*command, cwd=home)
    fresh = python(*command, f"results={home / 'fresh'}", cwd=home)
    if (again.returncode, fresh.returncode) != (0, 0):
        return f"the same command fails afterwards: {again.stdout[-200:]}{fresh.stdout[-200:]}"
    for run in (home / "fresh" / "runs").iterdir():
        if _losses(home / "results" / "runs" / run.name) != _losses(run) or runs.get(run.name, _losses(run)) != _losses(
            run
        ):
            return "a wrong number is believed"
    return RIGHT


PLUGIN = """from typing import NamedTuple
import torch
from bench.method import Algorithm, algorithm
from helper import FACTOR

class State(NamedTuple):
    x: torch.Tensor

class Mine(Algorithm):
    def start(self, x, grad, mix):
        return State(x)

    def step(self, s, t, grad, mix):
        return State(*mix(s.x - 1 * FACTOR * self.eta[t] * grad(s.x, t)))

@algorithm("first", vectors_per_step=1, needs=set(), assumes=set(), cite="mine")
class First(Mine):
    pass

@algorithm("second", vectors_per_step=1, needs=set(), assumes=set(), cite="mine")
class Second(Mine):
    pass
"""
STALE = "the run has the numbers and the hash of the same version, or failed and named the file; then all are correct"


@fault("Source", "a plug-in, or a module that it imports, is edited before its first run in a sweep",
       allowed=(STALE,), quick=0, often=2, full=4)  # fmt: skip
def edited_plugin(trials: int, folder: Path) -> Counter[str]:
    ways = [(how, file) for how in ("mpi", "stacked") for file in ("mine.py", "helper.py")]
    ways = [ways[0], ways[3], ways[1], ways[2]]  # the first two have both engines and both files
    return Counter(_plugin(*ways[n % len(ways)], folder / str(n)) for n in range(trials))


def _plugin(engine: str, edited: str, home: Path) -> str:
    home.mkdir()
    (home / "mine.py").write_text(PLUGIN)
    (home / "helper.py").write_text("FACTOR = 1 * 1\n")
    path = {"HEARSAY_PLUGINS": "mine", "PYTHONPATH": str(home)}
    before = "first" if engine == "stacked" else "dsgd"  # a built-in method would be computed by another process
    command = [
        str(ROOT / "bench" / "run.py"),
        "-m",
        f"algo={before},second",
        "algo.eta=0.01",
        f"engine={engine}",
        *SIZES,
    ]
    command += ["ranks=1"] * (engine == "mpi") + ["eval_every=500"]
    sweep = subprocess.Popen(
        [sys.executable, *command, "steps=20000", f"results={home / 'results'}"], cwd=home,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **path},
    )  # fmt: skip
    runs, until = home / "results" / "runs", time.monotonic() + 100
    while not any(json.loads(file.read_text()).get("step") for file in runs.glob(f"{before}*/status.json")):
        assert sweep.poll() is None
        assert time.monotonic() < until
        time.sleep(0.02)
    text = (home / edited).read_text()
    (home / edited).write_text(text.replace("1 *", "3 *"))
    sweep.communicate(timeout=300)
    (run,) = runs.glob("second*")
    status, done = json.loads((run / "status.json").read_text()), None
    if status["state"] == "done":
        done = _losses(run)
    elif edited not in status["error"]:
        return f"failed for another reason: {status['error']}"
    again = python(*command, "steps=20000", f"results={home / 'results'}", "stale=rerun", cwd=home, **path)
    fresh = python(*command, "steps=20000", f"results={home / 'fresh'}", cwd=home, **path)
    if (again.returncode, fresh.returncode) != (0, 0):
        return f"the same command fails afterwards: {again.stdout[-200:]}{fresh.stdout[-200:]}"
    (right,) = (home / "fresh" / "runs").glob("second*")
    return STALE if done != _losses(right) == _losses(run) else "a wrong number is believed"


def _losses(run: Path) -> list[float]:
    return pq.read_table(run / "metrics.parquet").column("train_loss").to_pylist()


HOLD = """
import sys, time
from pathlib import Path
from bench.store.locks import Lock
lock = Lock(Path(sys.argv[1]))
assert lock.take()
print("held", flush=True)
time.sleep(100)
"""
WAITS = "the sweep names the process that it waits for, and finishes when this process has ended"


@fault(
    "Other processes",
    "a sweep starts while a paused process holds the lock of its run",
    allowed=(WAITS,),
    quick=0,
    often=1,
    full=2,
)
def held_by_a_stopped_process(trials: int, folder: Path) -> Counter[str]:
    seen: Counter[str] = Counter()
    for number in range(trials):
        home = folder / str(number)
        home.mkdir()
        command = [sys.executable, str(ROOT / "bench" / "run.py"), *SIZES, "engine=stacked"]
        subprocess.run([*command, "steps=1"], cwd=home, capture_output=True, timeout=300)  # for the run's name
        (run,) = (home / "results" / "runs").iterdir()
        lock = home / "results" / ".locks" / run.name
        holder = subprocess.Popen([sys.executable, "-c", HOLD, str(lock)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert holder.stdout is not None
        holder.stdout.readline()
        holder.send_signal(signal.SIGSTOP)
        shutil.rmtree(run)
        sweep = subprocess.Popen([*command, "steps=1"], cwd=home, stdout=subprocess.PIPE, text=True)
        assert sweep.stdout is not None
        began, line = time.monotonic(), sweep.stdout.readline()
        said = f"computed by process {holder.pid} on this machine, which is stopped, since" in line
        holder.kill()
        holder.communicate()
        sweep.communicate(timeout=60)
        code = sweep.returncode
        seen[WAITS if said and code == 0 else f"said {line!r} after {time.monotonic() - began:.0f} s, exit {code}"] += 1
    return seen
