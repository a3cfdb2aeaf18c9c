"""Worlds of ranks, started by mpiexec, kept warm across a sweep and never left behind."""

from __future__ import annotations

import os
import secrets
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from bench.checkpoint import Resume
from bench.config import RunConfig
from bench.data import FOLDER, data_folder
from bench.link import ADDRESS, TOKEN, Link, Message
from bench.loop import Observer, Outcome
from bench.registry import UserError

ROOT = Path(__file__).resolve().parents[1]
OPENMPI = {  # OpenMPI refuses root, and more ranks than cores, without these; others ignore them
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
START_S = 180
"""Seconds that ranks may take to import torch and report."""


class WorldFailed(Exception):
    """A run that ended its world: a sentence, and what there is to read about it."""

    def __init__(self, sentence: str, details: str) -> None:
        super().__init__(sentence)
        self.details = details


class Stopped(Exception):
    """The sweep is coming to an end from outside."""


def default_ranks(config: RunConfig, jobs: int = 1) -> int:
    """One rank per core, but no more than nodes; cores are shared between jobs."""
    return config.ranks or min(config.nodes, core_share(jobs))


def core_share(jobs: int) -> int:
    """Cores for one of the jobs that run side by side."""
    return max(1, cores() // jobs)


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def launcher(launch: list[str] | None) -> list[str]:
    """The words that start ranks: those given, or the environment's own mpiexec."""
    words = launch or ["mpiexec"]
    here = Path(sys.executable).parent / words[0]
    found = str(here) if not launch and here.exists() else shutil.which(words[0])
    if found is None:
        raise UserError(
            f"There is no '{words[0]}' to start ranks with. Install an MPI (pip install mpich), name yours with "
            "engine.launch=[...], or use engine=stacked."
        )
    return [found, *words[1:]]


class World:
    """One running mpiexec and its ranks; without words to launch it, a single process."""

    def __init__(self, ranks: int, launch: list[str] | None, host: str, stop: threading.Event) -> None:
        self.ranks, self._stop = ranks, stop
        self._links: dict[int, Link] = {}
        self._pids: list[int] = []
        self._mark = 0  # where the output of the current run begins
        self.idle_mb: dict[int, float] = {}  # memory of each rank: after its imports,
        self.peak_mb: dict[int, float] = {}  # and the most so far
        self._output = tempfile.TemporaryFile()  # noqa: SIM115
        with socket.create_server((host, 0)) as server:
            token = secrets.token_hex(16)
            address = f"{host}:{server.getsockname()[1]}"
            paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
            one_thread = {"OMP_NUM_THREADS": "1"} if launch else {}
            environment = {**OPENMPI, **one_thread, **os.environ, "PYTHONPATH": paths}
            prefix = [*launch, "-n", str(ranks)] if launch else []
            self._process = subprocess.Popen(
                [*prefix, sys.executable, "-m", "mpi4py", "-m", "bench.worker"],
                env={**environment, ADDRESS: address, TOKEN: token, FOLDER: str(data_folder())},
                cwd=ROOT,  # python -m looks here first: a stranger's package called datasets must not be found
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is ours to pass on
            )
            try:
                self._welcome(server, token)
            except BaseException:
                self.kill()
                raise

    def _welcome(self, server: socket.socket, token: str) -> None:
        """Wait for every rank to say who it is."""
        server.settimeout(0.1)
        deadline = time.monotonic() + START_S
        while len(self._links) < self.ranks:
            if self._process.poll() is not None or time.monotonic() > deadline:
                reason = (
                    f"ended with exit code {self._process.returncode}"
                    if self._process.poll() is not None
                    else "is silent"
                )
                raise WorldFailed(f"mpiexec {reason} before all {self.ranks} ranks had started.", self.output())
            try:
                connection, _ = server.accept()
            except TimeoutError:
                continue
            connection.settimeout(10)
            link = Link(connection)
            hello = next(iter(link.receive() or []), {})
            if not secrets.compare_digest(str(hello.get("token")), token):
                link.close()
                continue
            self._pids.append(hello["pid"])
            if hello["size"] != self.ranks or hello["rank"] in self._links:
                raise UserError(
                    f"The ranks came up as worlds of {hello['size']} instead of one of {self.ranks}: the launcher does "
                    f"not belong to the MPI library that mpi4py found ({hello['library']}). Set engine.launch."
                )
            self._links[hello["rank"]] = link
            self.idle_mb[hello["rank"]] = self.peak_mb[hello["rank"]] = hello["peak_mb"]

    def run(self, job: Message, observer: Observer, timeout_s: float) -> None:
        """One job; WorldFailed if any rank does not see it through."""
        self._mark = self._output.seek(0, os.SEEK_END)
        self._broadcast(job)
        done: set[int] = set()
        heard, step = time.monotonic(), 0
        while len(done) < self.ranks:
            if self._stop.is_set():
                raise Stopped
            messages = self._messages(0.2)
            if any("error" in message or "gone" in message for _, message in messages):
                messages += self._messages(0.05)  # rows that other ranks had sent before
            for rank, message in messages:
                heard = time.monotonic()
                match message:
                    case {"row": row, "r": r}:
                        observer.record(r, row)
                        step = row["step"]
                    case {"step": t}:
                        step = max(step, t)
                        observer.tick(step)
                    case {"facts": facts, "r": r}:
                        observer.learn(r, facts)
                    case {"end": outcome, "r": r}:
                        observer.end(r, Outcome(**outcome))
                    case {"done": _, "peak_mb": peak}:
                        done.add(rank)
                        self.peak_mb[rank] = peak
            self._raise_failure(messages)
            if time.monotonic() - heard > timeout_s:
                raise self._stuck(timeout_s, step)

    def _messages(self, patience: float) -> list[tuple[int, Message]]:
        """What ranks have said within ``patience`` seconds; «gone» stands for the end of a connection."""
        ready, _, _ = select.select(list(self._links.values()), [], [], patience)
        out: list[tuple[int, Message]] = []
        for rank, link in list(self._links.items()):
            if link in ready:
                messages = link.receive()
                if messages is None:
                    self._links.pop(rank).close()
                out += [(rank, message) for message in ([{"gone": True}] if messages is None else messages)]
        return out

    def _raise_failure(self, messages: list[tuple[int, Message]]) -> None:
        """A rank that raised explains itself; one that is just gone leaves others a second to explain it."""
        gone = [rank for rank, message in messages if "gone" in message]
        deadline = time.monotonic() + 1.0
        while True:
            for rank, message in messages:
                if "error" in message:
                    raise WorldFailed(f"rank {rank}: {message['error']}", message["traceback"] + self.output())
            if not gone:
                return
            if not self._links or time.monotonic() > deadline:
                break
            messages = self._messages(0.1)
        code = self._ended(1.0)
        how = "" if code is None else f"; mpiexec ended with exit code {code}"
        raise WorldFailed(f"rank {gone[0]} went away without a word, as when killed{how}.", self.output())

    def _stuck(self, timeout_s: float, step: int) -> WorldFailed:
        """No rank made progress: ask each where it is."""
        self._broadcast({"where": True})
        stacks: dict[int, str] = {}
        deadline = time.monotonic() + 2
        while len(stacks) < self.ranks and time.monotonic() < deadline:
            messages = self._messages(0.1)
            stacks |= {rank: message["stack"] for rank, message in messages if "stack" in message}
            self._raise_failure(messages)
        details = "\n".join(f"rank {rank} is at\n{stack}" for rank, stack in sorted(stacks.items()))
        return WorldFailed(f"no rank made progress for {timeout_s:g} s after step {step} (engine.timeout_s).", details)

    def _broadcast(self, message: Message) -> None:
        for rank, link in list(self._links.items()):
            try:
                link.send(message)
            except OSError:
                self._raise_failure([(rank, {"gone": True})])

    def output(self) -> str:
        """The end of what ranks printed during the current run."""
        end = self._output.seek(0, os.SEEK_END)
        self._output.seek(max(self._mark, end - 20_000))
        text = self._output.read().decode(errors="replace").strip()
        return f"\noutput of the ranks:\n{text}\n" if text else ""

    def stop(self) -> None:
        """Let the ranks finish by themselves, then make sure."""
        for link in self._links.values():
            try:
                link.send({"stop": True})
            except OSError:
                break
        self._ended(5.0)
        self.kill()

    def kill(self) -> None:
        """End every process of this world, by its id, and wait until it is gone."""
        for link in self._links.values():
            link.close()  # a rank whose runner is gone ends itself
        if self._ended(0.0) is None:
            self._signal_group(signal.SIGTERM)
            if self._ended(3.0) is None:
                self._signal_group(signal.SIGKILL)
                self._process.wait()
        deadline = time.monotonic() + 1.0
        for pid in self._pids:
            while _is_worker(pid) and time.monotonic() < deadline:
                time.sleep(0.02)
            if _is_worker(pid):
                os.kill(pid, signal.SIGKILL)
        self._output.close()

    def _ended(self, patience: float) -> int | None:
        try:
            return self._process.wait(timeout=patience)
        except subprocess.TimeoutExpired:
            return None

    def _signal_group(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)


def _is_worker(pid: int) -> bool:
    """Whether the process is still a rank of ours: ids are used again, so its words are checked."""
    try:
        return b"bench.worker" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


class Pool:
    """Warm worlds by engine and number of ranks; a failed one is replaced when next needed."""

    def __init__(self, jobs: int = 1, stop: threading.Event | None = None) -> None:
        """``jobs`` pools share this machine; a world ends its run when ``stop`` is set."""
        self._worlds: dict[tuple[str, int], World] = {}
        self._jobs, self._stop = jobs, stop or threading.Event()

    def run(
        self,
        configs: Sequence[RunConfig],
        observer: Observer,
        resume: Resume | None = None,
        checkpoints: Sequence[Path] = (),
    ) -> None:
        """One configuration on ranks, or a group of them in one process; checkpoints go to one folder each."""
        first = configs[0]
        mpi = first.engine.name == "mpi"
        options: dict[str, Any] = {"pool": True, **first.engine.options}
        key = first.engine.name, self.ranks(first)
        if key not in self._worlds:
            launch = launcher(options["launch"]) if mpi else None
            host = options.get("host", "127.0.0.1")
            try:
                self._worlds[key] = World(key[1], launch, host, self._stop)
            except OSError as error:
                raise UserError(f"Ranks cannot be started, or reached at {host} (engine.host): {error}.") from error
        job = {
            "runs": [config.plain() for config in configs],
            "checkpoints": [str(folder) for folder in checkpoints],
            "resume": None if resume is None else {"step": resume.step, "rows": list(resume.rows)},
            "threads": core_share(self._jobs),
        }
        try:
            self._worlds[key].run(job, observer, options["timeout_s"] * len(configs))
        except BaseException:
            self._worlds.pop(key).kill()
            raise
        if not options["pool"]:
            self._worlds.pop(key).stop()

    def ranks(self, config: RunConfig) -> int:
        """How many processes a run of this configuration gets."""
        return default_ranks(config, self._jobs) if config.engine.name == "mpi" else 1

    def close(self) -> None:
        while self._worlds:
            self._worlds.popitem()[1].stop()
