"""A world of ranks that are given jobs and listened to."""

from __future__ import annotations

import time
from collections.abc import Sequence

from bench.base import preemption
from bench.base.awake import Awake
from bench.base.errors import Misfit
from bench.base.preemption import Preempted
from bench.build.origin import Origin, confirmed, disagreement, made_of
from bench.config.run_config import RunConfig
from bench.engine.link import Message
from bench.engine.rank_processes import RankProcesses, RunFailed, Stopped, WorldFailed
from bench.engine.shutdown import ShutdownCoordinator
from bench.training.observer import Observer, Outcome


class RankPool(RankProcesses):
    """Ranks that wait for jobs; without words to launch them, a single process."""

    def run(self, configs: Sequence[RunConfig], job: Message, observer: Observer, timeout_s: float) -> None:
        """One job; WorldFailed if any rank does not see it through.

        Before the first step every rank says what it would compute with, and is told whether that is what is meant.
        """
        self.launched.mark()
        self._raise_failure(self._links.send(job))
        origins: dict[int, Origin] = {}
        done: set[int] = set()
        left: set[int] = set()
        departure: ShutdownCoordinator | None = None
        clock, heard, step = Awake(), 0.0, 0
        while len(done | left) < self.ranks:
            if self._stop.is_set():
                raise Stopped
            if preemption.requested() and departure is None and len(origins) == self.ranks:
                departure = ShutdownCoordinator(self.ranks, configs[0].steps, self._links.send)
                for rank in done:
                    departure.ended(rank)
            messages = self._links.receive(0.2)
            if any("error" in message or "gone" in message for _, message in messages):
                messages += self._links.receive(0.05)  # rows that other ranks had sent before
            for rank, message in messages:
                heard = clock()
                match message:
                    case {"row": {"step": int(t)} as row, "r": int(r)}:
                        observer.record(r, row)
                        step = t
                    case {"step": int(t)}:
                        step = max(step, t)
                        observer.tick(step)
                    case {"facts": dict(facts), "r": int(r)}:
                        observer.learn(r, facts)
                    case {"end": {"state": "done" | "nonfinite" as state, "step": int(t)}, "r": int(r)}:
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
                        raise self._failed(f"Unexpected message from {self._who(rank)}: {str(message)[:80]}.")
            self._raise_failure(messages)
            if clock() - heard > timeout_s:
                raise self._stuck(timeout_s, step)
            if departure and departure.overdue:
                raise Preempted  # what regular checkpoints have is enough
        if left:
            raise Preempted

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
                    if message.get("misfit"):
                        raise Misfit(f"{who}{message['error']}")
                    raise kind(f"{who}{message['error']}", details)
            if not gone:
                return
            if not self._links or time.monotonic() > deadline:
                break
            messages = self._links.receive(0.1)
        code, what = self.launched.ended(1.0), "it" if self._one else self.launched.name
        how = "" if code is None else f"; {what} ended with exit code {code}"
        who = self._who(gone[0])
        raise self._failed(f"{who} exited without an error message (killed?){how}.{self.launched.hint}")

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
