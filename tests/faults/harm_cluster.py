"""Clusters: a SLURM whose step holds every CPU, an MPI that counts cores, and variables that a job leaves behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

from bench.engine.launch import OPENMPI
from tests.faults.table import fault
from tests.helpers import openmpi, slurm
from tests.helpers.cli import ROOT

THEME = "Clusters"
SMALL = ("dataset=synthetic", "dataset.evaluation=50", "steps=20", "eval_every=10", "tracker=none", "engine=mpi")
DONE = "the run is done, and all its ranks were in one MPI world"


@fault(THEME, f"bench/submit.py starts runs with two ranks in SLURM jobs with {slurm.CPUS} CPUs", allowed=(DONE,),
       quick=0, full=6, unless=slurm.lacking)  # fmt: skip
def slurm_jobs(trials: int, folder: Path) -> Counter[str]:
    with slurm.cluster(folder / "slurm") as environment:
        seeds = ",".join(map(str, range(trials)))
        cluster = ("partition=trial", f"cpus={slurm.CPUS}", "time=10", "memory=1G")
        words = ["--wait", "workers=1", *(f"site.{word}" for word in cluster), f"seed={seeds}"]
        return _states(folder, ["submit.py", *words, "nodes=4", "ranks=2", *SMALL], trials, environment)


@fault(THEME, "root starts runs with 8 ranks on fewer cores, with the OpenMPI of the system",
       allowed=(DONE,), quick=0, full=4, unless=openmpi.lacking)  # fmt: skip
def openmpi_ranks(trials: int, folder: Path) -> Counter[str]:
    bare = {name: value for name, value in os.environ.items() if name not in OPENMPI}
    environment = {**bare, "MPI4PY_LIBMPI": str(openmpi.library())}
    seeds = ",".join(map(str, range(trials)))
    words = ["run.py", "-m", f"engine.launch=[{openmpi.LAUNCH}]", f"seed={seeds}", "nodes=8", "ranks=8"]
    return _states(folder, [*words, *SMALL], trials, environment)


def _states(folder: Path, command: list[str], trials: int, environment: dict[str, str]) -> Counter[str]:
    """What became of each run, and whether its ranks were one world."""
    script, *words = command
    done = subprocess.run(
        [sys.executable, str(ROOT / "bench" / script), *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60 + 60 * trials,
    )
    seen: Counter[str] = Counter()
    for run in sorted((folder / "results" / "runs").glob("*")):
        status, manifest = (json.loads((run / f"{name}.json").read_text()) for name in ("status", "manifest"))
        ranks = manifest.get("workers", {}).get("ranks", 0)
        good = status["state"] == "done" and f"ranks={ranks}" in words
        seen[DONE if good else f"{status['state']} with {ranks} ranks: {str(status['error'])[:200]}"] += 1
    if not seen:
        seen[f"nothing was made: {done.stderr[-300:]}"] += trials
    return seen
