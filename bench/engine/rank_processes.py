"""The ranks of a world as processes: started, let in one by one, called by name, and never left behind."""

from __future__ import annotations

import socket
import threading
from collections.abc import Sequence

from bench.base import preemption
from bench.base.awake import Awake
from bench.base.errors import Failure, UserError
from bench.base.preemption import Preempted
from bench.engine.launch import Launched
from bench.engine.link import Connections, Link, Message
from bench.engine.lost import reason
from bench.engine.processes import Process
from bench.engine.reception import Reception
from bench.training.observer import Observer

START_S = 180
"""Seconds that ranks may take to import torch and report;"""
NOTE_S = 15
"""every so many of them it is said what is waited for."""


class WorldFailed(Failure):
    """A run that ended its world."""


class RunFailed(WorldFailed):
    """A run that failed and left its world as it was, ready for the next."""


class Stopped(Exception):
    """The sweep is coming to an end from outside."""


class RankProcesses:
    """The processes of a world: let in, known by name, and ended; without words to launch them, a single one."""

    def __init__(
        self, ranks: int, launch: Sequence[str] | None, host: str, stop: threading.Event, observer: Observer
    ) -> None:
        self.ranks, self._stop = ranks, stop
        self._one = launch is None
        self._links = Connections()
        self._hosts: dict[int, str] = {}  # where each rank is
        self.idle_mb: dict[int, float] = {}  # memory of each rank: after its imports,
        self.peak_mb: dict[int, float] = {}  # and the most so far
        with Reception(host, ranks) as reception:
            self.launched = Launched(ranks, launch, reception.address, reception.token)
            try:
                self._welcome(reception, observer)
            except BaseException:
                self.kill()
                raise

    def _welcome(self, reception: Reception, observer: Observer) -> None:
        """Wait for every rank to say who it is."""
        clock, said = Awake(), 0.0
        while len(self._links) < self.ranks:
            now = clock()
            here = f"{len(self._links)} of {self.ranks} ranks"
            if self._stop.is_set():
                raise Stopped
            if preemption.requested():
                raise Preempted
            if (code := self.launched.ended(0.0)) is not None:
                if why := reason(self.launched.output()):
                    raise self._failed(why)
                ended = f"{self.launched.name} ended with exit code {code}"
                raise self._failed(f"{ended} before all {self.ranks} ranks had started.{self.launched.hint}")
            if now > START_S:
                raise self._failed(
                    f"only {here} reported within {START_S} s, and {self.launched.name} still runs. Does it wait for "
                    f"free processors (engine.launch), and can all machines reach each other, and this one at "
                    f"{' or '.join(reception.names)}, port {reception.port} (engine.host)?"
                )
            if now - said > NOTE_S:
                said = now
                observer.wait(f"{here} have started after {now:.0f} s, waiting for {self.launched.name}")
            for link, hello in reception.arrivals(0.1):
                try:
                    self._admit(link, hello)
                except BaseException:
                    link.close()
                    raise

    def _admit(self, link: Link, hello: Message) -> None:
        """One rank that has shown the token."""
        try:
            self.launched.know(Process(str(hello["place"]), int(hello["pid"]), int(hello["started"])))
            rank, size, peak = int(hello["rank"]), int(hello["size"]), float(hello["peak_mb"])
            host = str(hello["host"])
        except (KeyError, TypeError, ValueError) as error:
            raise self._failed(
                f"Malformed handshake of a rank: {error} is missing. Do all machines have the same source?"
            ) from error
        if size != self.ranks or rank in self._links:
            raise UserError(
                f"The ranks came up as worlds of {size} instead of one of {self.ranks}: the launcher does "
                f"not belong to the MPI library that mpi4py found ({hello.get('library')}). Set engine.launch."
            )
        self.idle_mb[rank] = self.peak_mb[rank] = peak
        self._hosts[rank] = host
        self._links.add(rank, link)

    def _failed(self, sentence: str, details: str = "") -> WorldFailed:
        return WorldFailed(sentence, details + self.launched.output())

    def _who(self, rank: int) -> str:
        """A rank by its number, and by its machine where there are several."""
        if self._one:
            return self.launched.name
        several = {*self._hosts.values(), socket.gethostname()} - {self._hosts.get(rank)}
        return f"rank {rank} on {self._hosts[rank]}" if several else f"rank {rank}"

    def stop(self) -> None:
        """Let the ranks finish by themselves, then make sure."""
        self._links.send({"stop": True})
        self.launched.ended(5.0)
        self.kill()

    def kill(self) -> None:
        """End every process of this world."""
        self._links.close()  # a rank whose runner is gone ends itself
        self.launched.kill()
