"""The training loop of all engines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from bench.base.errors import Misfit, UserError
from bench.base.preemption import Preempted
from bench.method.algorithm import Algorithm
from bench.method.asynchronous import Asynchronous
from bench.method.trajectory import blank_state, trajectory
from bench.network.compressor import Compressor
from bench.network.mixing import Mixing
from bench.problem.problem import Problem
from bench.store.record import Row
from bench.training.captured import ReplayedSteps, Step
from bench.training.costs import CostCounter, RowBuilder, Stopwatch
from bench.training.events import Events
from bench.training.hosting import Hosting
from bench.training.metrics import heterogeneity, measure
from bench.training.network import GradOracle, MixOracle, Network, make_oracles
from bench.training.observer import Observer, Outcome, Snapshot
from bench.training.threads import step_threads, threads


@dataclass(frozen=True)
class Timetable:
    """The steps at which a run evaluates and writes checkpoints."""

    steps: int
    evaluate_at: Sequence[int]
    checkpoint_every: int | None = None
    thin: bool = False  # stop when half of the replicas have ended


class Training:
    """Replicas of one method on one problem, from the start or a snapshot to the last step."""

    def __init__(
        self,
        algorithm: Algorithm,
        problem: Problem,
        hosting: Hosting,
        mixings: Sequence[Mixing],
        timetable: Timetable,
        observer: Observer,
        begin: Snapshot | None = None,
        compressor: Compressor | None = None,
        capture: bool = False,
    ) -> None:
        """``capture``: replay a captured step where that is possible; only on a GPU."""
        self._capture = capture
        self._clock = Stopwatch(len(mixings), begin.seconds if begin else None)
        self._costs = CostCounter(problem, mixings, begin.counts if begin else ())
        self._books = RowBuilder(algorithm, self._costs, mixings, begin.last if begin else ())
        self._algorithm, self._problem, self._hosting = algorithm, problem, hosting
        self._timetable, self._observer, self._begin = timetable, observer, begin
        self._shape = len(mixings), len(problem.setting.hosted), problem.layout.size
        self._outcomes: list[Outcome | None] = [None] * len(mixings)
        seeds, one_way = problem.setting.seeds, mixings[0].one_way
        properties = algorithm.properties
        self._network = Network(hosting, properties, self._costs, self._clock, seeds, compressor, one_way)
        self._threads = torch.get_num_threads(), step_threads(problem)  # for evaluations, and for steps
        if begin:
            hosting.mixer.restore(begin.in_flight)
        if isinstance(hosting.mixer, Events):
            assert isinstance(algorithm, Asynchronous)
            hosting.mixer.attach(algorithm, problem, self._costs, begin.step if begin else 0)

    def run(self) -> tuple[list[Outcome | None], Snapshot]:
        """Run the steps and report to the observer; return how every replica ended, and the last snapshot.

        A replica ends when a metric is not finite. With ``thin``, the run stops when half of the replicas have ended;
        the others have no outcome and can resume from the snapshot without the ended ones.

        Raises:
            Preempted: The observer has preempted the run, after a checkpoint.
        """
        self._learn({"threads": self._threads[1]})
        if isinstance(self._hosting.mixer, Events):
            self._learn({"tape": self._hosting.mixer.tape.hash()})
        with threads(self._threads[1]):
            return self._run()

    def _run(self) -> tuple[list[Outcome | None], Snapshot]:
        times, begun = self._timetable, self._begin.step if self._begin else 0
        due = {t for t in times.evaluate_at if t > begun} if self._begin else {0, *times.evaluate_at}
        grad, mix = make_oracles(self._problem, self._network, self._costs)
        for t, state in trajectory(self._algorithm, self._from(), grad, mix, times.steps, self._faster(grad, mix)):
            self._network.step = t
            if t > begun:
                self._observer.tick(t)
            if t in due:
                self._evaluate(t, state)
                if self._over():
                    break
            leaves = t < times.steps and self._observer.leaves(t)
            if times.checkpoint_every and begun < t < times.steps and (leaves or t % times.checkpoint_every == 0):
                self._checkpoint(t, state)
            if leaves:
                raise Preempted
        _wait_for_gpu(state.x)
        return self._outcomes, self._moment(t, state)

    def _faster(self, grad: GradOracle, mix: MixOracle) -> Step | None:
        """A step of events, or one that is captured as soon as the first ones have run; None: steps run one by one."""
        if isinstance(self._hosting.mixer, Events):
            return self._hosting.mixer.play
        if not self._capture:
            return None

        def eager(state: Any, t: int) -> Any:
            return self._algorithm.step(state, t, grad, mix)

        parts = self._algorithm, self._problem, self._network, self._costs
        return ReplayedSteps(eager, *parts, self._timetable.steps, self._learn)

    def _learn(self, facts: Row) -> None:
        for r in range(len(self._outcomes)):
            self._observer.learn(r, facts)

    def _from(self) -> Tensor | tuple[int, Any]:
        """Return the start of the trajectory: x, or a step and its state."""
        if self._begin:
            return self._begin.step, self._restored(self._begin)
        x = self._problem.start()
        if x.shape != self._shape:
            wanted = f"{self._shape} (replicas, nodes, parameters)"
            raise UserError(f"The problem's start must have shape {wanted}, got {tuple(x.shape)}.")
        return x

    def _restored(self, moment: Snapshot) -> Any:
        """Return the state of a snapshot, if its shapes are those of this method."""
        setting = self._problem.setting
        blank = blank_state(self._algorithm, torch.zeros(self._shape, dtype=setting.dtype, device=setting.device))
        shapes, expected = ({k: tuple(v.shape) for k, v in s.items()} for s in (moment.state, blank._asdict()))
        if shapes != expected:
            raise Misfit(
                f"The checkpoint at step {moment.step} does not belong to this run: its states have shapes {shapes}, "
                f"expected {expected}."
            )
        return type(blank)(**moment.state)

    def _evaluate(self, t: int, state: Any) -> None:
        _wait_for_gpu(state.x)  # the earlier steps count as computing, not as evaluating
        with self._clock.timing("eval_s"), threads(self._threads[0]):
            zetas = heterogeneity(state.x, self._problem, self._hosting) if t == 0 else []
            measured = measure(state, self._problem, self._hosting, self._algorithm.properties)
            if isinstance(self._hosting.mixer, Events):
                measured.own.update(self._hosting.mixer.facts(t, len(self._outcomes)))
        seconds = self._clock.seconds()
        with self._clock.timing("paused"):
            for r, zeta in enumerate(zetas):
                self._observer.learn(r, {"heterogeneity": zeta})
            for r, finite in enumerate(measured.finite):
                if self._outcomes[r] is None:
                    self._observer.record(r, self._books.row(r, t, measured.row(r), seconds[r]))
                    if not finite or t == self._timetable.steps:
                        self._outcomes[r] = outcome = Outcome("done" if finite else "nonfinite", t)
                        self._observer.end(r, outcome)

    def _over(self) -> bool:
        ended = sum(outcome is not None for outcome in self._outcomes)
        return ended == len(self._outcomes) or (self._timetable.thin and 2 * ended >= len(self._outcomes))

    def _checkpoint(self, t: int, state: Any) -> None:
        _wait_for_gpu(state.x)
        with self._clock.timing("paused"):
            moment = self._moment(t, state)
            for r in (r for r, outcome in enumerate(self._outcomes) if outcome is None):
                self._observer.checkpoint(r, moment.only([r]))

    def _moment(self, t: int, state: Any) -> Snapshot:
        counts = [self._costs.kept(r) for r in range(len(self._outcomes))]
        in_flight = self._hosting.mixer.kept()
        return Snapshot(t, state._asdict(), self._clock.seconds(), self._books.last, counts, in_flight)


def _wait_for_gpu(x: Tensor) -> None:
    """Wait until the GPU of x, if it is on one, has finished its work."""
    if x.is_cuda:
        torch.cuda.synchronize()
