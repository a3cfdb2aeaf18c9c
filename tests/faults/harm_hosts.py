"""Several hosts on one results folder: clocks that differ, locks that stay on one of them, and claims that are lost."""

from __future__ import annotations

import json
import random
import shutil
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from bench.base.errors import UserError
from bench.store import locks
from bench.sweep.cluster import order as orders
from tests.cluster import hosts
from tests.faults.table import fault
from tests.helpers.claims import LAST, come_back
from tests.helpers.cli import ROOT
from tests.helpers.configs import config

THEME = "Several hosts on one folder"
ONCE = "one worker tried the failing run, and one worker made the forced run"
LEASES, LOCKS = "all eight use leases", "four use locks, and the other four are rejected"
APART_S = 1800.0
SWEEP = ("-m", "dataset=digits", "nodes=4", "batch_size=8", "steps=400", "engine=stacked", "tracker=none",
         "algo=dsgd,dsgt", "topology=ring,complete", "seed=0,1")  # fmt: skip


@fault(
    THEME,
    "bench/submit.py gives a failing run and a forced run to four workers whose clocks are wrong by up to 30 minutes",
    allowed=(ONCE,),
    quick=4,
    full=200,
)
def clocks_apart(trials: int, folder: Path) -> Counter[str]:
    chance, seen, now = random.Random(33), Counter[str](), time.time
    bad = config(dataset={"name": "synthetic", "dimension": 10, "evaluation": 10**12}, results=str(folder))
    fine = replace(config(results=str(folder), steps=5), force=True)
    for _ in range(trials):
        order = orders.make([bad, fine], "trial", lambda todo: ([[place] for place in range(len(todo))], 1))
        codes, times = [], []
        for _ in range(4):
            ahead = chance.uniform(-APART_S, APART_S)
            with patch.object(time, "time", lambda ahead=ahead: now() + ahead):
                codes.append(orders.work(order))
            statuses = [folder / "runs" / run.run_id / "status.json" for run in (bad, fine)]
            times.append([json.loads(path.read_text())["time"] for path in statuses])
        once = codes == [1, 1, 1, 1] and times[0] == times[1] == times[2] == times[3]
        seen[ONCE if once else f"codes {codes}, times {times}"] += 1
    return seen


@fault(
    THEME,
    "eight hosts start at once; other hosts cannot see the locks of four of them",
    allowed=(LEASES, LOCKS),
    quick=20,
    full=1000,
)
def who_decides(trials: int, folder: Path) -> Counter[str]:
    def decide(place: Path, reason: str | None) -> str:
        host.reason = reason
        start.wait()
        try:
            return "leases" if locks.untrusted(place) else "locks"
        except UserError:
            return "refused"

    host, start, seen = threading.local(), threading.Barrier(8), Counter[str]()
    words = {(8, 0, 0): LEASES, (0, 4, 4): LOCKS}
    with ThreadPoolExecutor(8) as pool, patch.object(locks, "_found_wanting", lambda place: host.reason):
        for trial in range(trials):
            place = folder / str(trial)
            place.mkdir()
            kinds = Counter(pool.map(decide, [place] * 8, ["fuse.sshfs has none", None] * 4))
            counts = (kinds["leases"], kinds["locks"], kinds["refused"])
            seen[words.get(counts, f"leases, locks, refused: {counts}")] += 1
    return seen


@fault(
    THEME,
    "a process pauses until another has taken over and finished its run; then the first process writes, fails or exits",
    allowed=("no file of the run changed",),
    quick=0,
    full=20 * len(LAST),
)
def claims_lost(trials: int, folder: Path) -> Counter[str]:
    seen: Counter[str] = Counter()
    for trial in range(trials):
        last = list(LAST)[trial % len(LAST)]
        before, after = come_back(last, folder / str(trial))
        done = json.loads(before["status.json"])["state"] == "done"
        seen["no file of the run changed" if done and after == before else f"it {last}: changed"] += 1
    return seen


def no_sshfs() -> str | None:
    lacks = shutil.which("sshfs") is None or not Path("/dev/fuse").exists()
    return "no sshfs on this machine" if lacks else hosts.lacking()


@fault(
    THEME,
    "two hosts run the same sweep of 8 runs in a folder that one or both mount by sshfs",
    allowed=("each run was computed once, and all are done",),
    quick=0,
    full=10,
    unless=no_sshfs,
)
def one_folder_by_sshfs(trials: int, folder: Path) -> Counter[str]:
    seen: Counter[str] = Counter()
    (folder / "hosts").mkdir()
    with hosts.hosts(folder / "hosts") as machines:
        for trial in range(trials):
            names = [("h2", "h3"), ("h2", "h1")][trial % 2]
            seen[_swept(machines, names, folder / str(trial))] += 1
    return seen


def _swept(machines: hosts.Hosts, names: tuple[str, str], folder: Path) -> str:
    (folder / ".locks").mkdir(parents=True)
    if "h1" in names:  # which has locks, and might decide for them
        (folder / ".locks" / locks.KIND).write_text("leases\n")
    with ExitStack() as mounts:
        sweeps = []
        for name in names:
            place = folder if name == "h1" else mounts.enter_context(machines.far(name, folder))
            command = [sys.executable, str(ROOT / "bench" / "run.py"), *SWEEP, f"results={place}"]
            sweeps.append(machines.start_in(name, command, Path("/"), OMP_NUM_THREADS="1"))
        said = [sweep.communicate(timeout=200)[0] for sweep in sweeps]
    made = sum(text.count("done at step 400") for text in said)
    states = Counter(json.loads(path.read_text())["state"] for path in folder.glob("runs/*/status.json"))
    good = made == 8 and states == {"done": 8} and [sweep.returncode for sweep in sweeps] == [0, 0]
    return "each run was computed once, and all are done" if good else f"{made} made, {dict(states)}"
