"""Starting the processes of a rank pool, and ending every one of them."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from bench.base.errors import UserError
from bench.base.home import ROOT
from bench.data.recipe import FOLDER, data_folder
from bench.engine import shared_memory
from bench.engine.link import ADDRESS, TOKEN
from bench.engine.processes import Process, end, marked

FORWARDED = ("HEARSAY_", "MPI4PY_", "OMP_", "PYTHON")
"""Prefixes of the environment variables that ranks need."""
TO_PASS_ON = "OMPI_MCA_mca_base_env_list"
OPENMPI = {  # OpenMPI rejects root, and more ranks than cores, without these; other libraries ignore them
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",  # version 4
    "PRTE_MCA_rmaps_default_mapping_policy": "slot:oversubscribe",  # version 5; without "slot" one machine gets all
}
WAITING = {  # ranks that wait for a message give their core away: ranks may outnumber the free cores
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "MPIR_CVAR_POLLS_BEFORE_YIELD": "100",
}
HASHES = {"PYTHONHASHSEED": "0"}
"""One seed of ``hash``: hashes of texts, and the order of sets of texts, are the same in every process."""
NO_RUNNER = "cannot connect to the runner"
"""Part of the message that a rank prints before it exits; ``explain`` finds it in the output of the launcher."""
UNREACHED = re.compile(rf"rank \d+ on \S+ {NO_RUNNER}.*")
NO_FOLDER = re.compile(r"@(\S+)\] .*: unable to change wdir to (.*) \(")
"""Output of MPICH on a machine that lacks the working directory."""
SSH = re.compile(r"^ssh: .*|^.*(?:Permission denied \(|Host key verification failed).*", re.MULTILINE)
CLOSED = "assert (!closed) failed"
"""Sometimes the only output of MPICH after a machine failed to start its ranks."""


def launcher(launch: list[str] | None) -> list[str]:
    """Return the launch command, by default mpiexec; programs of the Python environment take precedence."""
    words = launch or ["mpiexec"]
    found = shutil.which(words[0], path=str(Path(sys.executable).parent)) or shutil.which(words[0])
    if found is None:
        raise UserError(
            f"Cannot start ranks: the program '{words[0]}' was not found. Install MPI (pip install mpich), set "
            "engine.launch=[...], or use engine=stacked."
        )
    return [str(Path(found).absolute()), *words[1:]]


def passing_on(environment: dict[str, str], launch: Sequence[str]) -> list[str]:
    """Return the launch command; add options or a variable that make OpenMPI pass ``environment`` on by ssh.

    OpenMPI accepts either -x or the variable, not both. Other launchers pass on everything. Only names are given,
    since all users of a machine can read command lines, and the token is secret.
    """
    names = sorted(name for name in environment if name.startswith(FORWARDED))
    if "-x" in launch:
        return [*launch, *(word for name in names for word in ("-x", name))]
    environment[TO_PASS_ON] = ";".join([*filter(None, [environment.get(TO_PASS_ON)]), *names])
    return list(launch)


def explain(output: str) -> str | None:
    """Return why ranks did not connect, from the output of the launcher; None if the cause is unknown."""
    if found := UNREACHED.search(output):
        return found[0]
    if found := NO_FOLDER.search(output):
        return f"{found[1]} lacks the folder {found[2]}. Start the command in a folder that all machines have."
    if found := SSH.search(output):
        return f"ssh cannot reach a machine: {found[0].strip()}"
    if CLOSED in output:
        return (
            f"A machine failed before its ranks had started. Check that all machines have the folder {Path.cwd()}, "
            "where the command was started, and this Python environment."
        )
    return None


class Launched:
    """mpiexec and all processes that it started; a single worker process if ``launch`` is None."""

    def __init__(self, ranks: int, launch: Sequence[str] | None, address: str, token: str) -> None:
        self.name = "mpiexec" if launch else "the worker process"
        shortage = shared_memory.shortage(ranks, shared_memory.USUAL)
        self.hint = f" Possible cause: {shortage}" if shortage else ""
        self._token = f"{TOKEN}={token}"
        self.processes: set[Process] = set()  # each is killed only if it proves to be the same process
        self._segments: set[shared_memory.Segment] = set()
        self._mark = 0  # where the output of the current run begins
        given = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
        paths = os.pathsep.join([str(ROOT), *(str(Path(folder).absolute()) for folder in given)])
        one_thread = {"OMP_NUM_THREADS": "1"} if launch else {}
        told = {**HASHES, "PYTHONPATH": paths, ADDRESS: address, TOKEN: token}
        with suppress(UserError):  # only datasets that are downloaded need the folder
            told[FOLDER] = str(data_folder())
        environment = {**OPENMPI, **WAITING, **one_thread, **os.environ, **told}
        prefix = [*passing_on(environment, launch), "-n", str(ranks)] if launch else []
        self._output = tempfile.TemporaryFile()  # noqa: SIM115
        try:
            self.process = subprocess.Popen(
                # -P: do not import from the working directory, where the user may have a package called datasets
                [*prefix, sys.executable, "-P", "-m", "mpi4py", "-m", "bench.engine.worker"],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # the runner handles Ctrl-C
            )
        except BaseException:
            self._output.close()
            raise

    def mark(self) -> None:
        """Start the output of a new run."""
        self._mark = self._output.seek(0, os.SEEK_END)

    def output(self) -> str:
        """Return the last 20 kB that the ranks printed during the current run."""
        end = self._output.seek(0, os.SEEK_END)
        self._output.seek(max(self._mark, end - 20_000))
        text = self._output.read().decode(errors="replace").strip()
        return f"\noutput of the ranks:\n{text}\n" if text else ""

    def ended(self, timeout: float | None) -> int | None:
        """Wait up to ``timeout`` seconds for the exit code; return None if the process still runs."""
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            return None

    def kill(self) -> None:
        """End every process on this machine, wait until it is gone, and remove its shared-memory segments."""
        self._find()
        for number, timeout in ((signal.SIGTERM, 3.0), (signal.SIGKILL, None)):
            if self.ended(0.0) is None:
                with suppress(ProcessLookupError):
                    os.killpg(self.process.pid, number)
                self.ended(timeout)
        self._find()
        end(self.processes, timeout=1.0)
        shared_memory.sweep(self._segments)
        self._output.close()

    def _find(self) -> None:
        """Find the processes of this pool by the token in their environment, and their shared-memory segments."""
        self.processes |= marked(self._token)
        for process in self.processes:
            if process.alive:
                self._segments |= shared_memory.mapped(process.pid)
