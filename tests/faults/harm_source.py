"""Software that is not the same everywhere: on the hosts of one run, or under the methods of one comparison."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections import Counter
from pathlib import Path

from bench.engine.launch import launcher
from tests.faults.table import fault
from tests.helpers.cli import ROOT, fresh, python
from tests.helpers.mentions import mentions

SIZES = ("steps=40", "eval_every=5", "dataset=synthetic", "dataset.evaluation=50", "nodes=4", "tracker=none")
OTHERS = {
    "algorithms/dsgd.py": ("self.eta[t] * g", "2 * self.eta[t] * g"),
    "bench/training/mixers.py": ('mode="sum"', 'mode="mean"'),
}
TOLD = "the run fails before its first step, and the error names the rank and the file; with equal source it is done"
RANK_1 = """#!/bin/sh
# mpiexec, whose second rank finds the source of another machine
ranks=$2; shift 2
exec {mpiexec} -n $ranks sh -c 'if [ "$PMI_RANK" = 1 ]; then cd {other}; PYTHONPATH={other}; fi; exec "$@"' rank "$@"
"""


@fault("Source", "one of two hosts has another source file of the method or of the mixing",
       allowed=(TOLD,), quick=0, full=len(OTHERS))  # fmt: skip
def another_source_on_one_host(trials: int, folder: Path) -> Counter[str]:
    seen: Counter[str] = Counter()
    for number in range(trials):
        name = list(OTHERS)[number % len(OTHERS)]
        seen[_other_source(name, folder / str(number))] += 1
    return seen


LIBRARIES = ("torch", "numpy")
VERSIONS_TOLD = (
    "the run fails before its first step, and the error names the rank, the package and both versions; with equal "
    "versions it is done"
)


@fault("Source", "one of two hosts has another version of torch or NumPy",
       allowed=(VERSIONS_TOLD,), quick=0, often=2, full=2 * len(LIBRARIES))  # fmt: skip
def another_library_on_one_host(trials: int, folder: Path) -> Counter[str]:
    return Counter(_other_library(LIBRARIES[n % len(LIBRARIES)], folder / str(n)) for n in range(trials))


def _other_library(name: str, home: Path) -> str:
    other = home / "other"
    other.mkdir(parents=True)
    command = [
        "bench/run.py",
        "algo=dsgd",
        "algo.eta=0.01",
        "engine=mpi",
        "ranks=2",
        *SIZES,
        f"engine.launch=[{_launch(home, other)}]",
    ]
    for text, expected in ((f"import {name}\n{name}.__version__ = '2.2.0'\n", "failed"), ("", "done")):
        (other / "sitecustomize.py").write_text(text)  # which Python imports before all else
        python(*command, cwd=home)
        (run,) = (home / "results" / "runs").iterdir()
        status, manifest = (json.loads((run / f"{file}.json").read_text()) for file in ("status", "manifest"))
        if (status["state"], status["step"]) != (expected, 40 if expected == "done" else 0):
            return f"{status['state']} at step {status['step']} where it should be {expected}"
        values = ("rank 1 ", f" {name} 2.2.0, ", f" {name} {manifest['versions'][name]}: ")
        if expected == "failed" and not mentions(status["error"], *values):
            return f"failed for another reason: {status['error']}"
    return VERSIONS_TOLD


def _launch(home: Path, other: Path) -> Path:
    """A launcher whose second rank looks for its modules in another folder first."""
    launch = home / "launch"
    launch.write_text(RANK_1.format(mpiexec=launcher(None)[0], other=other))
    launch.chmod(0o755)
    return launch


COMPARED = {
    "core": ("bench/training/mixers.py", 'mode="sum"', 'mode="mean"'),
    "bench/network/graphs.py": ("bench/network/graphs.py", "import", "import"),
    "torch": ("sitecustomize.py", "", "import torch\ntorch.__version__ = '2.2.0'\n"),
}
"""What differs, and how: a file, what stands in it and what takes its place."""
ASKED = (
    ("bench/run.py", "-m", "algo=dsgd,dnasa", "stale=keep"),
    ("analysis/make_figures.py", "--figure", "final"),
    ("analysis/make_report.py",),
    ("analysis/check_claims.py", "--claim", "consensus_sharp"),
)
SAID = (
    "tables, figures, report and claims name the differing part, the number of runs and a remedy; with --without, no "
    "warning is left"
)


@fault("Source", "a comparison has two methods whose runs were made with different cores, files or versions of torch",
       allowed=(SAID,), quick=0, often=1, full=2 * len(COMPARED))  # fmt: skip
def methods_made_with_other_software(trials: int, folder: Path) -> Counter[str]:
    return Counter(_compared(list(COMPARED)[n % len(COMPARED)], folder / str(n)) for n in range(trials))


def _compared(part: str, home: Path) -> str:
    file, before, after = COMPARED[part]
    other = _copied(home / "other")
    text = (other / file).read_text() if (other / file).exists() else ""
    assert before in text
    (other / file).write_text((text.replace(before, after, 1) or after) + "\n")
    size = (*SIZES, "engine=stacked", f"results={home / 'results'}")
    fresh(other / "bench/run.py", "algo=dsgd", *size, cwd=other, PYTHONPATH=str(other))
    time.sleep(1)  # start times have whole seconds, and the older run is to be excluded
    python("bench/run.py", "algo=dnasa", *size, cwd=home)
    told = re.compile(rf"software.*[ :]{part} \S+ \(1 run of dsgd, .*\(1 run of dnasa, .*--without ({part}=\S+);")
    page = home / "results" / "report.html"
    for script, *words in ASKED:
        done = python(script, *words, *(size if script == "bench/run.py" else ()), cwd=home)
        found = told.search(done.stdout)
        if done.returncode or not found or (page.exists() and not told.search(page.read_text())):
            return f"{script} did not say it: {done.stdout[-300:]}{done.stderr[-300:]}"
        if script != "bench/run.py":
            done = python(script, *words, "--without", found[1], cwd=home)
            if done.returncode or "software" in done.stdout + (page.read_text() if page.exists() else ""):
                return f"{script} still says it without {found[1]}: {done.stdout[-300:]}{done.stderr[-300:]}"
            page.unlink(missing_ok=True)
    return SAID


def _copied(other: Path) -> Path:
    """The source, as another machine or another day has it."""
    for part in ("bench", "algorithms", "datasets", "conf"):
        shutil.copytree(ROOT / part, other / part, ignore=shutil.ignore_patterns("__pycache__"))
    return other


def _other_source(name: str, home: Path) -> str:
    other = _copied(home / "other")
    text = (other / name).read_text()
    assert OTHERS[name][0] in text
    command = ["bench/run.py", "algo=dsgd", "algo.eta=0.01", "engine=mpi", "ranks=2", *SIZES]
    command += ["steps=50", f"engine.launch=[{_launch(home, other)}]", f"results={home / 'results'}"]
    for source, expected in ((text.replace(*OTHERS[name]), "failed"), (text, "done")):
        (other / name).write_text(source)
        done = python(*command, cwd=home)
        (run,) = (home / "results" / "runs").iterdir()
        status = json.loads((run / "status.json").read_text())
        if status["state"] != expected:
            return f"{status['state']} where it should be {expected}: {done.stderr[-200:]}"
        if expected == "failed" and not (name in status["error"] and "rank 1" in status["error"]):
            return f"failed for another reason: {status['error']}"
    return TOLD
