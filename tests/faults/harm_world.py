"""Harm to worlds of ranks: how they end, who knocks at their port, and what the machine does not give."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import ExitStack, closing
from pathlib import Path

from bench.engine.link import Link
from bench.engine.listener import Listener
from bench.engine.processes import Process, here
from bench.engine.rank_pool import RankPool
from bench.training.observer import Observer
from tests.faults.stranger import KINDS, knock
from tests.faults.table import fault
from tests.helpers.cli import ROOT, python

THEME = "Ranks"
DONE = "the run is done"
YAML = "name: trouble\nschedule: diminishing\neta: 0.01\nhow: none\n"
ENDS = ("vanish", "behead", "babble", "raise", "kill", "exit")
ACCEPTED = "the runner accepted the ranks at once, and no other client"
PROMPT_S = 10.0
"""Seconds after which ranks would have been kept waiting by strangers."""


def sweep(folder: Path, *words: str, **environment: str) -> list[tuple[dict, dict]]:
    """Runs of the misbehaving method: what their status and summary say."""
    (folder / "conf" / "algo").mkdir(parents=True)
    (folder / "conf" / "algo" / "trouble.yaml").write_text(YAML)
    quick = ("steps=40", "eval_every=5", "dataset=synthetic", "dataset.evaluation=50", "nodes=4", "engine=mpi")
    search = f"hydra.searchpath=[file://{folder}/conf]"
    plugin = {"HEARSAY_PLUGINS": "tests.helpers.trouble", "PYTHONPATH": str(ROOT)}
    words = ("-m", search, "algo=trouble", *quick, *words)
    python("bench/run.py", *words, cwd=folder, at_most_s=800, **plugin, **environment)
    runs = sorted((folder / "results" / "runs").iterdir())
    return [tuple(json.loads((run / f"{name}.json").read_text()) for name in ("status", "summary")) for run in runs]


@fault(
    THEME,
    "a rank raises, calls sys.exit or os._exit, is killed or sends invalid data; mpiexec is killed",
    allowed=("the run fails with an error message; nothing is left in shared memory",),
    quick=0,
    full=12,
)
def a_world_fails(trials: int, folder: Path) -> Counter[str]:
    seeds = ",".join(map(str, range(-(-trials // len(ENDS)))))
    noted = folder / "segments"
    noted.mkdir()
    words = (f"algo.how={','.join(ENDS[:trials])}", f"seed={seeds}", "ranks=2")
    runs = sweep(folder, *words, HEARSAY_TEST_SEGMENTS=str(noted))
    seen: Counter[str] = Counter()
    for status, summary in runs[:trials]:
        names = (noted / f"{summary['how']}-{summary['seed']}").read_text().split()
        left = [name for name in names if Path(name).exists()]
        sentence = status["state"] == "failed" and "Traceback" not in status["error"] and status["error"]
        assert names, "the rank had no shared memory, so that nothing was tested"
        how = "the run fails with an error message" if sentence else status["state"]
        seen[f"{how}; {len(left) or 'nothing'} is left in shared memory"] += 1
    return seen


@fault(
    THEME,
    "five other clients connect to the port of the runner while two ranks connect; the clients send random bytes, "
    "half a line, wrong tokens, odd JSON, a line of 10 MB or nothing",
    allowed=(ACCEPTED,),
    quick=len(KINDS),
    full=25 * len(KINDS),
)
def strangers_at_the_port(trials: int, folder: Path) -> Counter[str]:
    return Counter(_at_the_port(KINDS[trial % len(KINDS)], trial) for trial in range(trials))


def _at_the_port(kind: str, seed: int) -> str:
    """Two ranks and five strangers come at the same time."""
    with ExitStack() as closing_all, Listener("127.0.0.1", ranks=2) as listener:
        strangers: list[socket.socket] = []
        harm = threading.Thread(target=lambda: strangers.extend(knock(kind, listener.address, seed)))
        harm.start()
        time.sleep(0.01)
        began = time.monotonic()
        for rank in range(2):
            link = closing_all.enter_context(closing(Link.connect(listener.address)))
            link.send({"token": listener.token, "rank": rank})
        came: list[int] = []
        while (harm.is_alive() or len(came) < 2) and time.monotonic() < began + 2 * PROMPT_S:
            for link, hello in listener.arrivals(0.05):
                closing_all.enter_context(closing(link))
                came.append(hello["rank"])
        seconds = time.monotonic() - began
        harm.join()
        for stranger in strangers:
            stranger.close()
    if sorted(came) == [0, 1] and seconds < PROMPT_S:
        return ACCEPTED
    return f"{kind}: {came} after {seconds:.1f} s"


@fault(
    THEME,
    "the same clients connect to a real run, from another process",
    allowed=(DONE,),
    quick=0,
    often=1,
    full=len(KINDS),
)
def strangers_at_a_run(trials: int, folder: Path) -> Counter[str]:
    """A world each for as many runs, and with each world the next kind of strangers."""
    launch, begun = folder / "mpiexec", folder / "begun"
    lines = [
        "#!/bin/sh",
        f'echo >> {begun}; kind=$(sed -n "$(wc -l < {begun})p" {folder}/kinds)',
        f'cd {ROOT}; {sys.executable} -m tests.faults.stranger "$kind" "$HEARSAY_ADDRESS" 1 & harm=$!',
        f'{Path(sys.executable).parent}/mpiexec "$@"; code=$?',
        "kill $harm; exit $code",
    ]
    launch.write_text("\n".join(lines))
    launch.chmod(0o755)
    (folder / "kinds").write_text("\n".join(KINDS[trial % len(KINDS)] for trial in range(trials)))
    worlds = ("engine.pool=false", f"engine.launch=[{launch}]", f"seed=range({trials})")
    runs = sweep(folder / "sweep", "algo.how=none", "ranks=1", *worlds)
    assert len(begun.read_text()) == trials, "not every run had a world of its own"
    return Counter(DONE if status["state"] == "done" else status["state"] for status, _ in runs)


@fault(
    THEME,
    "the runner ends three ranks: one does not exit by itself; the others, one on another machine and one in the past, "
    "have the process id of an unrelated local process",
    allowed=("the unrelated process lives, and the rank is killed",),
    quick=0,
    often=1,
    full=10,
)
def a_rank_with_a_number_of_ours(trials: int, folder: Path) -> Counter[str]:
    seen: Counter[str] = Counter()
    sleep = [sys.executable, "-c", "import time; time.sleep(60)  # bench.engine.worker"]
    for _ in range(trials):
        bystander, rank = subprocess.Popen(sleep), subprocess.Popen(sleep)
        try:
            (by, ours) = (_identity(process.pid) for process in (bystander, rank))
            claims = [{**by, "place": by["place"] + "2"}, {**by, "started": by["started"] - 1}, ours]
            script = [sys.executable, str(Path(__file__).with_name("false_rank.py")), json.dumps(claims)]
            world = RankPool(3, script, "127.0.0.1", threading.Event(), Observer())
            launched = world.launched.process.pid
            world.kill()
            gone = rank.wait(5) == -9 and not Path(f"/proc/{launched}").exists()
            lives = bystander.poll() is None
        finally:
            for process in (bystander, rank):
                process.kill()
                process.wait()
        fates = ["lives" if lives else "is killed", "is killed" if gone else "lives"]
        seen[f"the unrelated process {fates[0]}, and the rank {fates[1]}"] += 1
    return seen


def _identity(pid: int) -> dict:
    started = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    process = Process(here(), pid, started)
    assert process.alive
    return vars(process)


@fault(
    THEME,
    "a process that may open 1024 files runs a sweep of 1500 runs with jobs=3",
    allowed=(DONE,),
    quick=0,
    often=150,
    full=1500,
)
def few_open_files(trials: int, folder: Path) -> Counter[str]:
    files = 1024 if trials > 1024 else 128  # fewer than there are runs
    command = [sys.executable, "-m", "tests.faults.few_files", str(trials), "3", str(files)]
    subprocess.run(command, cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, timeout=800)
    statuses = (folder / "results" / "runs").glob("*/status.json")
    states = (json.loads(path.read_text())["state"] for path in statuses)
    return Counter(DONE if state == "done" else state for state in states)
