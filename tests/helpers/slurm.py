"""A SLURM of one node on this machine: its real daemons, on loopback, in a folder of their own."""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

NEEDED = ("slurmctld", "slurmd", "srun", "sbatch", "sinfo", "munged")
CPUS = 2
"""That the node says to have; as many as a job of the tests asks for, so that a second step would have to wait."""
CONF = """
ClusterName=trial
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={control}
SlurmdPort={node}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={place}/munge/socket,cred_expire=5
MpiDefault=none
StateSaveLocation={place}/state
SlurmdSpoolDir={place}/spool
SlurmctldPidFile={place}/slurmctld.pid
SlurmdPidFile={place}/slurmd.pid
SlurmctldLogFile={place}/slurmctld.log
SlurmdLogFile={place}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
SlurmdParameters=config_overrides
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SchedulerParameters=batch_sched_delay=1,sched_interval=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory=4000 State=UNKNOWN
PartitionName=trial Nodes=ALL Default=YES MaxTime=INFINITE State=UP PriorityTier=1
PartitionName=urgent Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=2
"""


def lacking() -> str | None:
    """Why there can be no SLURM here."""
    missing = [name for name in NEEDED if shutil.which(name, path=_path()) is None]
    if missing:
        return f"no {', '.join(missing)} on this machine"
    return None if os.geteuid() == 0 else "the daemons of SLURM are started as root"


def _path() -> str:
    return os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


@contextmanager
def cluster(place: Path) -> Iterator[dict[str, str]]:
    """The environment in which sbatch and srun ask this cluster; it is ended with the block."""
    environment = {**os.environ, "PATH": _path(), "SLURM_CONF": str(place / "slurm.conf")}
    for name in ("munge", "state", "spool", "cgroup"):
        (place / name).mkdir(parents=True)
    (place / "munge").chmod(0o711)
    (place / "munge" / "key").write_bytes(os.urandom(1024))
    (place / "munge" / "key").chmod(0o400)
    (place / "cgroup.conf").write_text(f"CgroupPlugin=cgroup/v1\nCgroupMountpoint={place}/cgroup\n")
    host = socket.gethostname().partition(".")[0]
    control, node = _ports()
    (place / "slurm.conf").write_text(CONF.format(host=host, control=control, node=node, place=place, cpus=CPUS))
    munge = [f"--{name}={place}/munge/{name}" for name in ("socket", "pid-file", "log-file", "seed-file")]
    with ExitStack() as daemons:
        for command in (
            ["munged", "--foreground", "--force", f"--key-file={place}/munge/key", *munge],
            ["slurmctld", "-D", "-c"],
            ["slurmd", "-D", "-N", host],
        ):
            daemons.callback(_end, _start(command, place, environment))
            time.sleep(1.0)  # munged before those who ask it
        _until_idle(environment, place)
        try:
            yield environment
        finally:
            _empty(environment)


def _ports() -> tuple[int, int]:
    with socket.socket() as one, socket.socket() as other:
        for free in (one, other):
            free.bind(("127.0.0.1", 0))
        return one.getsockname()[1], other.getsockname()[1]


def _start(command: list[str], place: Path, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    words = [shutil.which(command[0], path=_path()) or command[0], *command[1:]]
    with (place / f"{command[0]}.out").open("wb") as out:
        return subprocess.Popen(words, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)


def _end(daemon: subprocess.Popen[bytes]) -> None:
    daemon.terminate()
    try:
        daemon.wait(10)
    except subprocess.TimeoutExpired:
        daemon.kill()
        daemon.wait()


def _empty(environment: dict[str, str]) -> None:
    """End all jobs; a step that ends after the daemons would wait for one of them to tell it."""
    end = time.monotonic() + 20
    subprocess.run(["scancel", f"--user={getpass.getuser()}"], env=environment, timeout=30, check=False)
    while time.monotonic() < end and _said(["squeue", "-h"], environment):
        time.sleep(0.2)


def _said(command: list[str], environment: dict[str, str]) -> str:
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=30).stdout.strip()


def _until_idle(environment: dict[str, str], place: Path) -> None:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        done = subprocess.run(["sinfo", "-h", "-o", "%T"], env=environment, capture_output=True, text=True, timeout=30)
        if done.stdout.strip() == "idle":
            return
        time.sleep(0.3)
    said = "\n".join(path.read_text(errors="replace")[-2000:] for path in sorted(place.glob("*.out")))
    raise RuntimeError(f"SLURM does not come up: {done.stdout}{done.stderr}\n{said}")
