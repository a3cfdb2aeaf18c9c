"""One rank of a warm pool: mpiexec -n N python -m mpi4py -m bench.engine.worker

The runner starts the ranks and sends one job after another to each. Rank 0 answers with the metrics; every rank reports
its errors. A rank exits when its runner is gone. Without mpiexec, the process is the single worker of engine=stacked.
"""

from __future__ import annotations

import gc
import os
import queue
import resource
import socket
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

if __name__ == "__main__":
    gc.disable()  # during the imports

import torch
from mpi4py import MPI

from bench.base import errors
from bench.base.errors import Misfit
from bench.base.preemption import Preempted, ignore
from bench.base.registry import discover, engines
from bench.build.origin import made_of
from bench.build.torch_setup import set_up_torch
from bench.config.run_config import parse
from bench.engine.engines import engine_of
from bench.engine.launch import NO_RUNNER
from bench.engine.link import ADDRESS, TOKEN, Link, MalformedMessage, Message
from bench.engine.processes import Process
from bench.engine.shared_memory import EARLY, mapped, remove_names
from bench.engine.shutdown import ShutdownClient
from bench.engine.wire import nodes_of_rank
from bench.network import cache
from bench.store.files import lock_of
from bench.store.locks import Lock
from bench.store.record import Row
from bench.training import checkpoint
from bench.training.checkpoint import Resume
from bench.training.observer import Observer, Outcome, Snapshot

BEAT_S = 0.5
"""Seconds between heartbeats."""


class Inbox:
    """The messages of the runner, read by a separate thread so that the rank notices at once when the runner ends."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._jobs: queue.Queue[Message | None] = queue.Queue()
        self._permissions: queue.Queue[bool] = queue.Queue()
        self.shutdown = ShutdownClient(link.send)
        self._main = threading.main_thread().ident
        self._stopping = False
        threading.Thread(target=self._read, daemon=True).start()

    def next(self) -> Message | None:
        """Wait for the next job; None: exit."""
        return self._jobs.get()

    def allowed(self) -> bool:
        """Wait for the runner to compare this rank's files, libraries and data with its own; True if they are equal."""
        return self._permissions.get()

    def _read(self) -> None:
        with suppress(MalformedMessage, OSError):  # the runner is gone
            while (messages := self._link.receive()) is not None:
                for message in messages:
                    self._take(message)
        if not self._stopping:
            os._exit(70)  # a rank without a runner must end

    def _take(self, message: Message) -> None:
        if "where" in message:
            frame = sys._current_frames().get(self._main or 0)
            self._link.send({"stack": "".join(traceback.format_stack(frame)) if frame else ""})
        elif "read" in message:
            self._link.acknowledged(message["read"])
        elif "handled" in message:
            self._link.handled(message["handled"])
        elif "leave" in message:
            self.shutdown.receive(message)
        elif "go" in message:
            self._permissions.put(message["go"])
        else:
            self._stopping = "runs" not in message
            self._jobs.put(None if self._stopping else message)


class Reporter(Observer):
    """Sends results (rank 0) and heartbeats (every rank) to the runner; writes the checkpoints of the hosted nodes."""

    def __init__(
        self,
        link: Link,
        shutdown: ShutdownClient,
        rank: int,
        hosted: range,
        folders: Sequence[str],
        runner: tuple[object, ...],
        starts: Sequence[str],
    ) -> None:
        self._link, self._first, self._beat = link, rank == 0, time.monotonic()
        self._shutdown = shutdown
        self._hosted, self._folders = hosted, [Path(folder) for folder in folders]
        self._locks = [Lock(lock_of(folder.parent)) for folder in self._folders]
        self._runner, self._starts = runner, starts
        self._confirmed = -1  # the step up to which the runner has recorded all rows
        # a file system of several hosts may show the earlier owner of a lock, or none, for some time
        self._owners = [{None, runner, lock.owner()} for lock in self._locks]

    def _tell(self, message: Message) -> None:
        if self._first:
            self._link.send(message)

    def learn(self, r: int, facts: Row) -> None:
        self._tell({"r": r, "facts": facts})

    def record(self, r: int, row: Row) -> None:
        self._tell({"r": r, "row": row})

    def end(self, r: int, outcome: Outcome) -> None:
        self._tell({"r": r, "end": asdict(outcome)})

    def tick(self, t: int) -> None:
        now = time.monotonic()
        if now - self._beat > BEAT_S:
            self._beat = now
            self._link.send({"step": t})

    def leaves(self, t: int) -> bool:
        return self._shutdown.after(t)

    def checkpoint(self, r: int, moment: Snapshot) -> None:
        def must_be_ours() -> None:
            """A rank that was paused may outlive its runner, and another process may compute the run."""
            if (owner := self._locks[r].owner()) == self._runner:
                self._owners[r] = {None, self._runner}  # None: the file cannot be read at the moment
            if owner not in self._owners[r]:  # a lease that another process took and released is missing
                raise errors.Failure(f"{self._folders[r].parent.name} was taken over by another process.")

        if self._first and moment.step != self._confirmed:  # a run resumes only if it has the rows before
            self._link.confirm()
            self._confirmed = moment.step
        with errors.store_errors(self._folders[r]):
            checkpoint.write(self._folders[r], moment, self._hosted, must_be_ours, self._starts[r])


def connect_to_runner(rank: int) -> Link:
    """Connect to the runner; exit with an error message if that fails."""
    problem = f"rank {rank} on {socket.gethostname()} {NO_RUNNER}"
    if not (address := os.environ.get(ADDRESS)):
        sys.exit(f"{problem}: {ADDRESS} is not set. Let the launcher (engine.launch) pass on {ADDRESS} and {TOKEN}.")
    try:
        return Link.connect(address)
    except OSError as error:
        hosts, _, port = address.rpartition(":")
        sys.exit(
            f"{problem} at {hosts.replace(',', ' or ')}, port {port} ({error.strerror or error}). Remove engine.host, "
            "or set it to a name or an address of the runner's machine that other machines can reach."
        )


def run(job: Message, comm: MPI.Intracomm, link: Link, inbox: Inbox) -> None:
    """Compute this process's part of one job, unless the runner finds other source, libraries or data here."""
    torch.set_num_threads(job["threads"])
    cache.learn(job["known"])
    configs = [parse(values) for values in job["runs"]]
    hosted = nodes_of_rank(configs[0].nodes, comm.size, comm.rank)
    folders, runner = job["checkpoints"], tuple(job["runner"])
    # while the runner holds the locks
    observer = Reporter(link, inbox.shutdown, comm.rank, hosted, folders, runner, job["starts"])
    link.send({"made_of": made_of(configs)})
    if not inbox.allowed():
        return
    resume = None
    if job["resume"] is not None:
        resume = Resume(job["resume"]["step"], [Path(folder) for folder in folders], job["resume"]["rows"])
    engine_of(configs[0]).compute(configs, observer, resume, comm)
    link.send({"done": True, "peak_mb": peak_mb()})


def peak_mb() -> float:
    """Return the peak memory of this process in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak / 1e3


def main() -> None:
    ignore()
    comm = MPI.COMM_WORLD
    comm.Barrier()  # every rank has opened the shared-memory segment
    remove_names(mapped(names=EARLY))
    torch.set_num_threads(1)
    set_up_torch()
    discover()
    gc.freeze()  # exclude imported objects from garbage collection
    gc.enable()
    link = connect_to_runner(comm.rank)
    link.set_timeout(None)
    who = {"token": os.environ[TOKEN], "rank": comm.rank, "size": comm.size, **asdict(Process.own())}
    library = MPI.Get_library_version().split("\n")[0]
    link.send({**who, "host": socket.gethostname(), "library": library, "peak_mb": peak_mb()})
    inbox = Inbox(link)
    while (job := inbox.next()) is not None:
        survives = engines[job["runs"][0]["engine"]["name"]].one_process
        try:
            run(job, comm, link, inbox)
        except Preempted:
            link.send({"left": True})
        except BaseException as error:  # SystemExit too, or the other ranks would wait
            report = {"error": errors.sentence(error), "traceback": traceback.format_exc()}
            link.send({**report, "misfit": isinstance(error, Misfit), "alive": survives})
            if not survives:
                raise


if __name__ == "__main__":
    main()
