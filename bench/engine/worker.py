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
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import torch
from mpi4py import MPI

from bench.base import causes
from bench.base.record import Row
from bench.base.registry import discover
from bench.config.run_config import RunConfig, parse
from bench.engine import stacked
from bench.engine.build import run_in
from bench.engine.link import ADDRESS, TOKEN, Garbled, Link, Message
from bench.engine.mpi import MPIWorld, agree
from bench.engine.origin import made_of
from bench.engine.processes import Process
from bench.engine.shared_memory import EARLY, mapped, remove_names
from bench.engine.torch_setup import prepare
from bench.training import checkpoint
from bench.training.checkpoint import Resume
from bench.training.observer import Moment, Observer, Outcome

BEAT_S = 0.5
"""Seconds between signs of life."""


class Orders:
    """What the runner wants, read by a thread of its own so that its end is noticed at once."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._jobs: queue.Queue[Message | None] = queue.Queue()
        self._permissions: queue.Queue[bool] = queue.Queue()
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
        while (messages := self._receive()) is not None:
            for message in messages:
                if "where" in message:
                    frame = sys._current_frames().get(self._main or 0)
                    self._link.send({"stack": "".join(traceback.format_stack(frame)) if frame else ""})
                elif "go" in message:
                    self._permissions.put(message["go"])
                else:
                    self._stopping = "runs" not in message
                    self._jobs.put(None if self._stopping else message)
        if not self._stopping:
            os._exit(70)  # the runner is gone, and this rank must not outlive it

    def _receive(self) -> list[Message] | None:
        try:
            return self._link.receive()
        except Garbled:
            return None  # whoever speaks there now is no runner


class Reporter(Observer):
    """Tells the runner: rank 0 what was found, every rank that it is alive. Each keeps its own nodes' checkpoints."""

    def __init__(self, link: Link, rank: int, hosted: range, folders: Sequence[str]) -> None:
        self._link, self._first, self._beat = link, rank == 0, time.monotonic()
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

    def checkpoint(self, r: int, moment: Moment) -> None:
        with causes.storing(self._folders[r]):
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
    """One configuration on all ranks."""
    (config,) = permitted(job, link, orders)
    mixing = config.mixing()
    agree(comm, "configuration", config.run_id)
    agree(comm, "mixing matrix", mixing.certificate.hash)
    dtype, device = getattr(torch, config.dtype), torch.device(config.device)
    with MPIWorld(comm, mixing, dtype, device) as world:
        resume = resume_from(job)
        begin = None if resume is None else checkpoint.load(resume, world.hosted, dtype, device)
        run_in(world, [config], Reporter(link, comm.rank, world.hosted, job["checkpoints"]), begin)


def run_stacked(job: Message, link: Link, orders: Orders) -> None:
    """A group of configurations in this process alone."""
    torch.set_num_threads(job["threads"])
    configs = permitted(job, link, orders)
    stacked.run(configs, Reporter(link, 0, range(configs[0].nodes), job["checkpoints"]), resume_from(job))


def peak_mb() -> float:
    """The most memory this process has had, in megabytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak / 1e3


def main() -> None:
    comm = MPI.COMM_WORLD
    comm.Barrier()  # every rank has opened what they share
    remove_names(mapped(names=EARLY))
    torch.set_num_threads(1)
    prepare()
    discover()
    gc.freeze()  # what the imports left need never be searched for garbage again
    link = Link.connect(os.environ[ADDRESS])
    link.patience(None)
    who = {"token": os.environ[TOKEN], "rank": comm.rank, "size": comm.size, **asdict(Process.own())}
    link.send({**who, "library": MPI.Get_library_version().split("\n")[0], "peak_mb": peak_mb()})
    orders = Orders(link)
    while (job := orders.next()) is not None:
        together = job["runs"][0]["engine"]["name"] == "mpi"
        try:
            if together:
                run(job, comm, link, orders)
            else:
                run_stacked(job, link, orders)
            link.send({"done": True, "peak_mb": peak_mb()})
        except NotAllowed:
            continue
        except BaseException as error:  # SystemExit too: no rank may leave the others waiting
            words = {"error": causes.sentence(error), "traceback": traceback.format_exc()}
            link.send(words if together else {**words, "alive": True})
            if together:
                raise


if __name__ == "__main__":
    main()
