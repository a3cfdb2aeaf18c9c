"""A world of ranks: let in, given jobs, listened to, and never left behind."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Sequence

from bench.base import leaving
from bench.base.causes import Failure
from bench.base.errors import UserError
from bench.base.leaving import Left
from bench.config.run_config import RunConfig
from bench.engine.departure import Departure
from bench.engine.launch import Launched
from bench.engine.link import Link, Links, Message
from bench.engine.origin import Origin, confirmed, disagreement, made_of
from bench.engine.processes import Process
from bench.engine.reception import Reception
from bench.training.observer import Observer, Outcome

START_S = 180
"""Seconds that ranks may take to import torch and report;"""
NOTE_S = 15
"""every so many of them it is said what is waited for."""


LOST = r"rank \d+ on \S+ (cannot reach|was not told where) its runner[^\n]*"
"""What a rank prints that cannot report."""


class WorldFailed(Failure):
    """A run that ended its world."""


class RunFailed(WorldFailed):
    """A run that failed and left its world as it was, ready for the next."""


class Stopped(Exception):
    """The sweep is coming to an end from outside."""


class Team:
    """Ranks that wait for jobs; without words to launch them, a single process."""

    def __init__(
        self, ranks: int, launch: Sequence[str] | None, host: str, stop: threading.Event, observer: Observer
    ) -> None:
        self.ranks, self._stop = ranks, stop
        self._one = launch is None
        self._links = Links()
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
        began = said = time.monotonic()
        while len(self._links) < self.ranks:
            now = time.monotonic()
            here = f"{len(self._links)} of {self.ranks} ranks"
            if self._stop.is_set():
                raise Stopped
            if leaving.asked():
                raise Left
            if (code := self.launched.ended(0.0)) is not None:
                if lost := self.launched.said(LOST):
                    raise self._failed(lost)
                ended = f"{self.launched.name} ended with exit code {code}"
                raise self._failed(f"{ended} before all {self.ranks} ranks had started.{self.launched.hint}")
            if now - began > START_S:
                raise self._failed(
                    f"only {here} reported within {START_S} s, and {self.launched.name} still runs. Does it wait for "
                    f"free processors (engine.launch), and can all machines reach each other, and this one at "
                    f"{' or '.join(reception.names)}, port {reception.port} (engine.host)?"
                )
            if now - said > NOTE_S:
                said = now
                observer.wait(f"{here} have started after {now - began:.0f} s, waiting for {self.launched.name}")
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
            raise self._failed(f"a rank's first words lack {error}. Do all machines have the same source?") from error
        if size != self.ranks or rank in self._links:
            raise UserError(
                f"The ranks came up as worlds of {size} instead of one of {self.ranks}: the launcher does "
                f"not belong to the MPI library that mpi4py found ({hello.get('library')}). Set engine.launch."
            )
        self.idle_mb[rank] = self.peak_mb[rank] = peak
        self._hosts[rank] = host
        self._links.add(rank, link)

    def run(self, configs: Sequence[RunConfig], job: Message, observer: Observer, timeout_s: float) -> None:
        """One job; WorldFailed if any rank does not see it through.

        Before the first step every rank says what it would compute with, and is told whether that is what is meant.
        """
        self.launched.mark()
        self._raise_failure(self._links.send(job))
        origins: dict[int, Origin] = {}
        done: set[int] = set()
        left: set[int] = set()
        departure: Departure | None = None
        heard, step = time.monotonic(), 0
        while len(done | left) < self.ranks:
            if self._stop.is_set():
                raise Stopped
            if leaving.asked() and departure is None and len(origins) == self.ranks:
                departure = Departure(self.ranks, configs[0].steps, self._links.send)
                for rank in done:
                    departure.ended(rank)
            messages = self._links.receive(0.2)
            if any("error" in message or "gone" in message for _, message in messages):
                messages += self._links.receive(0.05)  # rows that other ranks had sent before
            for rank, message in messages:
                heard = time.monotonic()
                match message:
                    case {"row": {"step": int(t)} as row, "r": int(r)}:
                        observer.record(r, row)
                        step = t
                    case {"step": int(t)}:
                        step = max(step, t)
                        observer.tick(step)
                    case {"facts": dict(facts), "r": int(r)}:
                        observer.learn(r, facts)
                    case {"end": {"state": "done" | "diverged" as state, "step": int(t)}, "r": int(r)}:
                        observer.end(r, Outcome(state, t))
                    case {"made_of": dict(said)}:
                        origins[rank] = said
                        if len(origins) == self.ranks:
                            self._compare(origins, configs, observer)
                    case {"done": _, "peak_mb": float(peak)}:
                        done.add(rank)
                        self.peak_mb[rank] = peak
                        if departure:
                            departure.ended(rank)
                    case {"at": int(t)} if departure:
                        departure.at(rank, t)
                    case {"left": True}:
                        left.add(rank)
                    case {"gone": _} | {"error": str(), "traceback": str()} | {"stack": str()}:
                        pass
                    case _:
                        raise self._failed(f"{self._who(rank)}: it said what is not understood, {str(message)[:80]}.")
            self._raise_failure(messages)
            if time.monotonic() - heard > timeout_s:
                raise self._stuck(timeout_s, step)
            if departure and departure.overdue:
                raise Left  # what regular checkpoints have is enough
        if left:
            raise Left

    def _compare(self, origins: dict[int, Origin], configs: Sequence[RunConfig], observer: Observer) -> None:
        """Let the ranks go on, if all of them are what the runner believes; else none does."""
        meant = made_of(configs)
        for rank, said in sorted(origins.items()):
            if sentence := disagreement(said, meant, self._who(rank)):
                self._links.send({"go": False})
                raise RunFailed(sentence, "")
        for r, config in enumerate(configs):
            observer.learn(r, confirmed(config, list(origins.values()), self._hosts))
        self._links.send({"go": True})

    def _raise_failure(self, messages: list[tuple[int, Message]]) -> None:
        """A rank that raised explains itself; one that is just gone leaves others a second to explain it."""
        gone = [rank for rank, message in messages if "gone" in message]
        deadline = time.monotonic() + 1.0
        while True:
            for rank, message in messages:
                if "error" in message:
                    kind = RunFailed if message.get("alive") else WorldFailed
                    details = message["traceback"] + self.launched.output()
                    who = "" if self._one else f"{self._who(rank)}: "
                    raise kind(f"{who}{message['error']}", details)
            if not gone:
                return
            if not self._links or time.monotonic() > deadline:
                break
            messages = self._links.receive(0.1)
        code, what = self.launched.ended(1.0), "it" if self._one else self.launched.name
        how = "" if code is None else f"; {what} ended with exit code {code}"
        who = self._who(gone[0])
        raise self._failed(f"{who} went away without a word, as when killed{how}.{self.launched.hint}")

    def _stuck(self, timeout_s: float, step: int) -> WorldFailed:
        """No rank made progress: ask each where it is."""
        self._raise_failure(self._links.send({"where": True}))
        stacks: dict[int, str] = {}
        deadline = time.monotonic() + 2
        while len(stacks) < self.ranks and time.monotonic() < deadline:
            messages = self._links.receive(0.1)
            stacks |= {rank: str(message["stack"]) for rank, message in messages if "stack" in message}
            self._raise_failure(messages)
        details = "\n".join(f"{self._who(rank)} is at\n{stack}" for rank, stack in sorted(stacks.items()))
        return WorldFailed(f"no rank made progress for {timeout_s:g} s after step {step} (engine.timeout_s).", details)

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
