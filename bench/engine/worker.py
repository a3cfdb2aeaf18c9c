"""One rank of a warm world: mpiexec -n N python -m mpi4py -m bench.engine.worker

Without mpiexec it is a world of one, for engine=stacked in a process of its own. Started by the runner,
which sends one job after another to every rank. Rank 0 answers with the metrics; any rank answers when
it fails. When the runner is gone, so is the rank.
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
    gc.disable()  # until all is imported

import torch
from mpi4py import MPI

from bench.base import errors
from bench.base.errors import Misfit
from bench.base.preemption import Preempted, ignore
from bench.base.registry import discover, engines
from bench.build.origin import made_of
from bench.config.run_config import RunConfig, parse
from bench.engine.engines import engine_of
from bench.engine.link import TOKEN, Garbled, Link, Message
from bench.engine.lost import connected
from bench.engine.processes import Process
from bench.engine.shared_memory import EARLY, mapped, remove_names
from bench.engine.shutdown import ShutdownClient
from bench.engine.torch_setup import set_up_torch
from bench.engine.wire import nodes_of_rank
from bench.network import cache
from bench.store.record import Row
from bench.training import checkpoint
from bench.training.checkpoint import Resume
from bench.training.observer import Observer, Outcome, Snapshot

BEAT_S = 0.5
"""Seconds between signs of life."""


class Orders:
    """What the runner wants, read by a thread of its own so that its end is noticed at once."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._jobs: queue.Queue[Message | None] = queue.Queue()
        self._permissions: queue.Queue[bool] = queue.Queue()
        self.farewell = ShutdownClient(link.send)
        self._main = threading.main_thread().ident
        self._stopping = False
        threading.Thread(target=self._read, daemon=True).start()

    def next(self) -> Message | None:
        """The next configuration; None when there is none to come."""
        return self._jobs.get()

    def allow(self) -> bool:
        """Whether the runner agrees with what this rank said that it is made of."""
        return self._permissions.get()

    def _read(self) -> None:
        with suppress(Garbled, OSError):  # whoever speaks there now is no runner, or nobody listens any more
            while (messages := self._link.receive()) is not None:
                for message in messages:
                    self._take(message)
        if not self._stopping:
            os._exit(70)  # the runner is gone, and this rank must not outlive it

    def _take(self, message: Message) -> None:
        if "where" in message:
            frame = sys._current_frames().get(self._main or 0)
            self._link.send({"stack": "".join(traceback.format_stack(frame)) if frame else ""})
        elif "read" in message:
            self._link.confirmed(message["read"])
        elif "leave" in message:
            self.farewell.hear(message)
        elif "go" in message:
            self._permissions.put(message["go"])
        else:
            self._stopping = "runs" not in message
            self._jobs.put(None if self._stopping else message)


class Reporter(Observer):
    """Tells the runner: rank 0 what was found, every rank that it is alive. Each keeps its own nodes' checkpoints."""

    def __init__(self, link: Link, farewell: ShutdownClient, rank: int, hosted: range, folders: Sequence[str]) -> None:
        self._link, self._first, self._beat = link, rank == 0, time.monotonic()
        self._farewell = farewell
        self._hosted, self._folders = hosted, [Path(folder) for folder in folders]

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
        return self._farewell.after(t)

    def checkpoint(self, r: int, moment: Snapshot) -> None:
        with errors.store_errors(self._folders[r]):
            checkpoint.write(self._folders[r], moment, self._hosted)


def resume_from(job: Message) -> Resume | None:
    """Where the runner wants the job to go on."""
    if job["resume"] is None:
        return None
    return Resume(job["resume"]["step"], [Path(folder) for folder in job["checkpoints"]], job["resume"]["rows"])


class NotAllowed(Exception):
    """The runner meant something else: another source, other data."""


def permitted(job: Message, link: Link, orders: Orders) -> list[RunConfig]:
    """The configurations of a job, once the runner has heard what this process would compute them with."""
    configs = [parse(values) for values in job["runs"]]
    link.send({"made_of": made_of(configs)})
    if not orders.allow():
        raise NotAllowed
    return configs


def run(job: Message, comm: MPI.Intracomm, link: Link, orders: Orders) -> None:
    """This process's part of one job."""
    torch.set_num_threads(job["threads"])
    cache.learn(job["known"])
    configs = permitted(job, link, orders)
    hosted = nodes_of_rank(configs[0].nodes, comm.size, comm.rank)
    observer = Reporter(link, orders.farewell, comm.rank, hosted, job["checkpoints"])
    engine_of(configs[0]).compute(configs, observer, resume_from(job), comm)


def peak_mb() -> float:
    """The most memory this process has had, in megabytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak / 1e3


def main() -> None:
    ignore()
    comm = MPI.COMM_WORLD
    comm.Barrier()  # every rank has opened what they share
    remove_names(mapped(names=EARLY))
    torch.set_num_threads(1)
    set_up_torch()
    discover()
    gc.freeze()  # what the imports left need never be searched for garbage again
    gc.enable()
    link = connected(comm.rank)
    link.patience(None)
    who = {"token": os.environ[TOKEN], "rank": comm.rank, "size": comm.size, **asdict(Process.own())}
    library = MPI.Get_library_version().split("\n")[0]
    link.send({**who, "host": socket.gethostname(), "library": library, "peak_mb": peak_mb()})
    orders = Orders(link)
    while (job := orders.next()) is not None:
        survives = engines[job["runs"][0]["engine"]["name"]].one_process
        try:
            run(job, comm, link, orders)
            link.send({"done": True, "peak_mb": peak_mb()})
        except NotAllowed:
            continue
        except Preempted:
            link.send({"left": True})
        except BaseException as error:  # SystemExit too: no rank may leave the others waiting
            words: Message = {"error": errors.sentence(error), "traceback": traceback.format_exc()}
            words |= {"misfit": True} if isinstance(error, Misfit) else {}
            link.send({**words, "alive": True} if survives else words)
            if not survives:
                raise


if __name__ == "__main__":
    main()
