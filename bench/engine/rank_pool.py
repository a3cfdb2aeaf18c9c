"""A pool of ranks: the runner starts them, checks their handshakes, gives them jobs and ends them."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Sequence

from bench.base import preemption
from bench.base.awake import Awake
from bench.base.errors import Failure, Misfit, UserError
from bench.base.preemption import Preempted
from bench.build.origin import Origin, confirmed, disagreement, made_of
from bench.config.run_config import RunConfig
from bench.engine.launch import Launched, explain
from bench.engine.link import Connections, Link, Message
from bench.engine.listener import Listener
from bench.engine.processes import Process
from bench.engine.shutdown import ShutdownCoordinator
from bench.training.observer import Observer, Outcome

START_S = 180
"""Seconds within which all ranks must import torch and connect."""
NOTE_S = 15
"""Seconds between progress messages while ranks start."""


class RanksFailed(Failure):
    """A run failed, and its ranks must be started again."""


class RunFailed(Failure):
    """A run failed, and its ranks are ready for the next one."""


class Stopped(Exception):
    """Another thread has stopped the sweep."""


class RankPool:
    """MPI ranks that wait for jobs; a single worker process if ``launch`` is None."""

    def __init__(
        self, ranks: int, launch: Sequence[str] | None, host: str, stop: threading.Event, observer: Observer
    ) -> None:
        self.ranks, self._stop = ranks, stop
        self._one = launch is None
        self._links = Connections()
        self._hosts: dict[int, str] = {}  # host name of each rank
        self.idle_mb: dict[int, float] = {}  # memory of each rank after its imports
        self.peak_mb: dict[int, float] = {}  # peak memory of each rank so far
        with Listener(host, ranks) as listener:
            self.launched = Launched(ranks, launch, listener.address, listener.token)
            try:
                self._wait_for_ranks(listener, observer)
            except BaseException:
                self.kill()
                raise

    def _wait_for_ranks(self, listener: Listener, observer: Observer) -> None:
        clock, noted = Awake(), 0.0
        while len(self._links) < self.ranks:
            now = clock()
            connected = f"{len(self._links)} of {self.ranks} ranks"
            if self._stop.is_set():
                raise Stopped
            if preemption.requested():
                raise Preempted
            if (code := self.launched.ended(0.0)) is not None:
                raise self._failed(
                    explain(self.launched.output())
                    or f"{self.launched.name} ended with exit code {code} before all {self.ranks} ranks had started."
                    f"{self.launched.hint}"
                )
            if now > START_S:
                raise self._failed(
                    f"Only {connected} connected within {START_S} s, and {self.launched.name} is still running. Check "
                    f"that it does not wait for free processors (engine.launch) and that all machines can reach each "
                    f"other and this one at {' or '.join(listener.names)}, port {listener.port} (engine.host)."
                )
            if now - noted > NOTE_S:
                noted = now
                observer.wait(f"{connected} have started after {now:.0f} s, waiting for {self.launched.name}")
            for link, hello in listener.arrivals(0.1):
                try:
                    self._add(link, hello)
                except BaseException:
                    link.close()
                    raise

    def _add(self, link: Link, hello: Message) -> None:
        """Add a rank by its first message, which had the token."""
        try:
            self.launched.processes.add(Process(str(hello["place"]), int(hello["pid"]), int(hello["started"])))
            rank, size, peak = int(hello["rank"]), int(hello["size"]), float(hello["peak_mb"])
            host = str(hello["host"])
        except (KeyError, TypeError, ValueError) as error:
            raise self._failed(
                f"Malformed handshake of a rank ({error!r}). Install the same source on all machines."
            ) from error
        if size != self.ranks or rank in self._links:
            raise UserError(
                f"MPI_COMM_WORLD has {size} ranks instead of {self.ranks}: the launcher does not belong to the MPI "
                f"library that mpi4py loaded ({hello.get('library')}). Set engine.launch."
            )
        self.idle_mb[rank] = self.peak_mb[rank] = peak
        self._hosts[rank] = host
        self._links.add(rank, link)

    def run(self, configs: Sequence[RunConfig], job: Message, observer: Observer, timeout_s: float) -> None:
        """Run one job; raise RanksFailed if any rank does not finish it.

        Before the first step, every rank reports its source files, libraries, data and network, and the runner compares
        them with its own.
        """
        self.launched.mark()
        self._raise_failure(self._links.send(job))
        origins: dict[int, Origin] = {}
        done: set[int] = set()
        preempted: set[int] = set()
        shutdown: ShutdownCoordinator | None = None
        clock, last_message, step = Awake(), 0.0, 0
        while len(done | preempted) < self.ranks:
            if self._stop.is_set():
                raise Stopped
            if preemption.requested() and shutdown is None and len(origins) == self.ranks:
                shutdown = ShutdownCoordinator(self.ranks, configs[0].steps, self._links.send)
                for rank in done:
                    shutdown.ended(rank)
            messages = self._links.receive(0.2)
            if any("error" in message or "gone" in message for _, message in messages):
                messages += self._links.receive(0.05)  # rows that other ranks had sent before
            for rank, message in messages:
                last_message = clock()
                match message:
                    case {"row": {"step": int(t)} as row, "r": int(r)}:
                        observer.record(r, row)
                        step = t
                    case {"step": int(t)}:
                        step = max(step, t)
                        observer.tick(step)
                    case {"mark": int(mark)}:
                        self._links.handled(rank, mark)
                    case {"facts": dict(facts), "r": int(r)}:
                        observer.learn(r, facts)
                    case {"end": {"state": "done" | "nonfinite" as state, "step": int(t)}, "r": int(r)}:
                        observer.end(r, Outcome(state, t))
                    case {"made_of": dict(origin)}:
                        origins[rank] = origin
                        if len(origins) == self.ranks:
                            self._compare(origins, configs, observer)
                    case {"done": _, "peak_mb": float(peak)}:
                        done.add(rank)
                        self.peak_mb[rank] = peak
                        if shutdown:
                            shutdown.ended(rank)
                    case {"at": int(t)} if shutdown:
                        shutdown.at(rank, t)
                    case {"left": True}:
                        preempted.add(rank)
                    case {"gone": _} | {"error": str(), "traceback": str()} | {"stack": str()}:
                        pass
                    case _:
                        raise self._failed(f"Unexpected message from {self._name(rank)}: {str(message)[:80]}.")
            self._raise_failure(messages)
            if clock() - last_message > timeout_s:
                raise self._stuck(timeout_s, step)
            if shutdown and shutdown.overdue:
                raise Preempted  # the run resumes from its last regular checkpoint
        if preempted:
            raise Preempted

    def _compare(self, origins: dict[int, Origin], configs: Sequence[RunConfig], observer: Observer) -> None:
        """Let the ranks start if all have the runner's source, libraries, data and network; else raise RunFailed."""
        expected = made_of(configs)
        for rank, origin in sorted(origins.items()):
            if sentence := disagreement(origin, expected, self._name(rank)):
                self._links.send({"go": False})
                raise RunFailed(sentence, "")
        for r, config in enumerate(configs):
            observer.learn(r, confirmed(config, list(origins.values()), self._hosts))
        self._links.send({"go": True})

    def _raise_failure(self, messages: list[tuple[int, Message]]) -> None:
        """Raise the error that a rank sent; if a rank is gone without one, wait a second for errors of the others."""
        gone = [rank for rank, message in messages if "gone" in message]
        deadline = time.monotonic() + 1.0
        while True:
            for rank, message in messages:
                if "error" in message:
                    sentence = message["error"] if self._one else f"{self._name(rank)}: {message['error']}"
                    if message.get("misfit"):
                        raise Misfit(sentence)
                    kind = RunFailed if message.get("alive") else RanksFailed
                    raise kind(sentence, message["traceback"] + self.launched.output())
            if not gone:
                return
            if not self._links or time.monotonic() > deadline:
                break
            messages = self._links.receive(0.1)
        code, process = self.launched.ended(1.0), "it" if self._one else self.launched.name
        how = "" if code is None else f"; {process} ended with exit code {code}"
        name = self._name(gone[0])
        raise self._failed(f"{name} exited without an error message (killed?){how}.{self.launched.hint}")

    def _stuck(self, timeout_s: float, step: int) -> RanksFailed:
        """Return the error of a timeout, with the current stack of each rank."""
        self._raise_failure(self._links.send({"where": True}))
        stacks: dict[int, str] = {}
        deadline = time.monotonic() + 2
        while len(stacks) < self.ranks and time.monotonic() < deadline:
            messages = self._links.receive(0.1)
            stacks |= {rank: str(message["stack"]) for rank, message in messages if "stack" in message}
            self._raise_failure(messages)
        details = "\n".join(f"{self._name(rank)} is at\n{stack}" for rank, stack in sorted(stacks.items()))
        return RanksFailed(f"no rank made progress for {timeout_s:g} s after step {step} (engine.timeout_s).", details)

    def _failed(self, sentence: str) -> RanksFailed:
        return RanksFailed(sentence, self.launched.output())

    def _name(self, rank: int) -> str:
        """Return the name of a rank for messages, with its machine if there are several."""
        if self._one:
            return self.launched.name
        others = {*self._hosts.values(), socket.gethostname()} - {self._hosts.get(rank)}
        return f"rank {rank} on {self._hosts[rank]}" if others else f"rank {rank}"

    def stop(self) -> None:
        """Ask the ranks to exit; kill those that have not after 5 seconds."""
        self._links.send({"stop": True})
        self.launched.ended(5.0)
        self.kill()

    def kill(self) -> None:
        """End every process of this pool."""
        self._links.close()  # a rank exits when its connection is closed
        self.launched.kill()
