"""CPU time of whole commands: the start of a tiny run, and the figures and page of the archived runs.

Seconds of CPU, of the command and its child processes, since other programs affect them less than the duration.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence

from bench.base.home import ROOT
from benchmarks.clock import Entry

ARCHIVE = ROOT / "reproduction" / "archive"
TINY = ("bench/run.py", "algo=dnasa", "steps=5", "nodes=4")
KINDS = {
    "engine=stacked": ("engine=stacked", "tracker=none"),
    "engine=mpi, 2 ranks": ("engine=mpi", "ranks=2", "tracker=none"),
    "engine=stacked, W&B offline": ("engine=stacked", "tracker=wandb"),
}


def spent(words: Sequence[str], **environment: str) -> float:
    """Return the seconds of CPU of a Python command."""
    before = os.times()
    command = [sys.executable, *words]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, env={**os.environ, **environment})
    after = os.times()
    return sum(after[2:4]) - sum(before[2:4])


def starting(rounds: int) -> list[Entry]:
    """Return the least CPU time of a tiny run beyond that of ``import torch``, measured in turn."""
    torch: list[float] = []
    runs: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for _ in range(rounds):
        torch.append(spent(["-c", "import torch"]))
        for kind, words in KINDS.items():
            with tempfile.TemporaryDirectory() as place:
                runs[kind].append(spent([*TINY, *words, f"results={place}"], WANDB_MODE="offline"))
    entries: list[Entry] = [{"what": "import torch", "s": min(torch)}]
    entries += [
        {"what": f"start of a tiny run beyond import torch, {kind}", "s": min(times) - min(torch)}
        for kind, times in runs.items()
    ]
    return entries


def archived() -> list[Entry]:
    """Return the CPU time of all figures, the page and the claims of the archived runs; none without the archive."""
    if not ARCHIVE.is_dir():
        return []
    with tempfile.TemporaryDirectory() as place:
        source = ["--results", str(ARCHIVE)]
        commands = {
            "figures of the archive": ["analysis/make_figures.py", *source, "--out", place],
            "page of the archive": ["analysis/make_report.py", *source, "--out", f"{place}/report.html"],
            "claims of the archive": [
                *("analysis/check_claims.py", *source, "--out", f"{place}/claims.md", "--figures", place)
            ],
        }
        return [{"what": what, "s": spent(words)} for what, words in commands.items()]
