"""What a healthy sweep leaves behind where nobody looks."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

from tests.faults.harm_runs import SIZES
from tests.faults.table import fault
from tests.helpers.cli import ROOT

CLEAN = "all runs are done and mirrored, and the temporary folder is empty"
MPIEXEC = "hydra_"
"""How names begin that MPICH's process manager leaves; they are not the suite's."""


@fault("Other processes", "a sweep of three runs with the W&B mirror runs without a fault", allowed=(CLEAN,),
       quick=0, full=4)  # fmt: skip
def mirrored_sweep(trials: int, folder: Path) -> Counter[str]:
    seen: Counter[str] = Counter()
    for number in range(trials):
        home, engine = folder / str(number), (["engine=stacked"], ["engine=mpi", "ranks=2"])[number % 2]
        (home / "tmp").mkdir(parents=True)
        words = [*SIZES[:-1], "tracker=wandb", *engine, "-m", "seed=0,1,2"]
        done = subprocess.run(
            [sys.executable, str(ROOT / "bench" / "run.py"), *words], cwd=home, capture_output=True, text=True,
            timeout=300, env={**os.environ, "TMPDIR": str(home / "tmp"), "WANDB_MODE": "offline"},
        )  # fmt: skip
        left = sorted(path.name for path in (home / "tmp").iterdir() if not path.name.startswith(MPIEXEC))
        mirrored = len(list((home / "results").rglob("run-*.wandb")))
        good = done.returncode == 0 and not left and mirrored == 3
        seen[CLEAN if good else f"{done.returncode}, {mirrored} mirrored, left {left}: {done.stderr[-200:]}"] += 1
    return seen
