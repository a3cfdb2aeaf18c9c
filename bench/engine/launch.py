"""Starting the processes of a world, and ending every one of them."""

from __future__ import annotations

import os
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
"""How the names begin of what a rank needs of the environment."""
TO_PASS_ON = "OMPI_MCA_mca_base_env_list"
OPENMPI = {  # OpenMPI refuses root, and more ranks than cores, without these; others ignore them
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",  # version 4
    "PRTE_MCA_rmaps_default_mapping_policy": "slot:oversubscribe",  # version 5; without "slot" one machine gets all
}


def launcher(launch: list[str] | None) -> list[str]:
    """The words that start ranks, or mpiexec: the environment's own where it has one, activated or not."""
    words = launch or ["mpiexec"]
    found = shutil.which(words[0], path=str(Path(sys.executable).parent)) or shutil.which(words[0])
    if found is None:
        raise UserError(
            f"There is no '{words[0]}' to start ranks with. Install an MPI (pip install mpich), name yours with "
            "engine.launch=[...], or use engine=stacked."
        )
    return [str(Path(found).absolute()), *words[1:]]


def passing_on(environment: dict[str, str], launch: Sequence[str]) -> list[str]:
    """The words of the launcher, once ranks on other machines will be given what they need of this environment.

    OpenMPI passes on by ssh what it is told to, in one of two ways that exclude each other; others pass on all. Only
    names are told, since everybody can read the words of a command.
    """
    names = sorted(name for name in environment if name.startswith(FORWARDED))
    if "-x" in launch:
        return [*launch, *(word for name in names for word in ("-x", name))]
    environment[TO_PASS_ON] = ";".join([*filter(None, [environment.get(TO_PASS_ON)]), *names])
    return list(launch)


class Launched:
    """mpiexec and all that it started; without words to launch it, a single process."""

    def __init__(self, ranks: int, launch: Sequence[str] | None, address: str, token: str) -> None:
        self.name = "mpiexec" if launch else "the worker process"
        self.hint = shared_memory.hint(ranks)
        self._token = f"{TOKEN}={token}"
        self._known: set[Process] = set()
        self._segments: set[shared_memory.Segment] = set()
        self._mark = 0  # where the output of the current run begins
        given = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
        paths = os.pathsep.join([str(ROOT), *(str(Path(folder).absolute()) for folder in given)])
        one_thread = {"OMP_NUM_THREADS": "1"} if launch else {}
        told = {"PYTHONPATH": paths, FOLDER: str(data_folder()), ADDRESS: address, TOKEN: token}
        environment = {**OPENMPI, **one_thread, **os.environ, **told}
        prefix = [*passing_on(environment, launch), "-n", str(ranks)] if launch else []
        self._output = tempfile.TemporaryFile()  # noqa: SIM115
        try:
            self.process = subprocess.Popen(
                # -P: a package called datasets in the folder of the user, where files named to the launcher lie,
                # must not be found
                [*prefix, sys.executable, "-P", "-m", "mpi4py", "-m", "bench.engine.worker"],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is ours to pass on
            )
        except BaseException:
            self._output.close()
            raise

    def know(self, process: Process) -> None:
        """A process that says that it belongs here; it is ended only where that proves true."""
        self._known.add(process)

    def mark(self) -> None:
        """A run begins: what was printed before is not its own."""
        self._mark = self._output.seek(0, os.SEEK_END)

    def output(self) -> str:
        """The end of what was printed during the current run."""
        end = self._output.seek(0, os.SEEK_END)
        self._output.seek(max(self._mark, end - 20_000))
        text = self._output.read().decode(errors="replace").strip()
        return f"\noutput of the ranks:\n{text}\n" if text else ""

    def ended(self, patience: float) -> int | None:
        """The exit code, if there is one within ``patience`` seconds."""
        try:
            return self.process.wait(timeout=patience)
        except subprocess.TimeoutExpired:
            return None

    def kill(self) -> None:
        """End every process on this machine, wait until it is gone, and remove what it left in shared memory."""
        self._look()
        if self.ended(0.0) is None:
            self._signal(signal.SIGTERM)
            if self.ended(3.0) is None:
                self._signal(signal.SIGKILL)
                self.process.wait()
        self._look()
        end(self._known, patience=1.0)
        shared_memory.sweep(self._segments)
        self._output.close()

    def _look(self) -> None:
        """Who belongs to this world by what it was started with, and which shared memory is in use."""
        self._known |= marked(self._token)
        for process in self._known:
            if process.alive:
                self._segments |= shared_memory.mapped(process.pid)

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)
