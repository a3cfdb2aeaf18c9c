"""The one training loop: stacked, batched and MPI runs all pass through here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from bench.base.errors import UserError
from bench.method.algorithm import Algorithm
from bench.network.mixing import Mixing
from bench.problem.problem import Problem
from bench.training.ledger import Bookkeeper, Rounds, Stopwatch
from bench.training.metrics import heterogeneity, measure
from bench.training.observer import Moment, Observer, Outcome
from bench.training.world import World


def fitting(moment: Moment, fresh: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """The state of a moment, if it can be one of the method that starts like this."""
    shapes, expected = ({name: tuple(t.shape) for name, t in s.items()} for s in (moment.state, fresh))
    if shapes != expected:
        raise UserError(
            f"The checkpoint at step {moment.step} is not one of this run: it holds {shapes}, and {expected} was "
            "expected. force=true starts again."
        )
    return moment.state


def _start(problem: Problem, replicas: int) -> Tensor:
    x, wanted = problem.start(), (replicas, len(problem.setting.hosted), problem.layout.size)
    if x.shape != wanted:
        raise UserError(f"The problem's start has shape {tuple(x.shape)}; replicas, nodes, parameters are {wanted}.")
    return x


def train(
    algorithm: Algorithm,
    problem: Problem,
    world: World,
    mixings: Sequence[Mixing],
    steps: int,
    evaluate_at: Sequence[int],
    observer: Observer,
    begin: Moment | None = None,
    checkpoint_every: int | None = None,
    thin: bool = False,
) -> tuple[list[Outcome | None], Moment]:
    """Run every replica to its last step, from the start or from a moment, and tell the observer.

    A replica whose measurements are no longer finite ends there as diverged, with that last row. With
    ``thin``, everything stops once half of the replicas have: the others have no outcome yet, and can
    go on from the moment that is returned without the weight of the dead.
    """
    clock = Stopwatch(len(mixings), begin.seconds if begin else None)
    books = Bookkeeper(algorithm, problem, mixings, begin.last if begin else ())
    mix = Rounds(world, algorithm.promise.rounds, clock)
    outcomes: list[Outcome | None] = [None] * len(mixings)
    due = set(evaluate_at)

    def evaluate(t: int) -> None:
        if state.x.is_cuda:
            torch.cuda.synchronize()  # the steps before this one are computing, not evaluating
        with clock.evaluation():
            measured = measure(state, problem, world, algorithm.promise)
        seconds = clock.seconds()
        with clock.pause():
            for r, finite in enumerate(measured.finite):
                if outcomes[r] is None:
                    observer.record(r, books.row(r, t, measured.row(r), seconds[r]))
                    if not finite or t == steps:
                        outcomes[r] = outcome = Outcome("done" if finite else "diverged", t)
                        observer.end(r, outcome)

    def now(t: int) -> Moment:
        return Moment(t, state._asdict(), clock.seconds(), books.last)

    def grad(x: Tensor, s: int, stream: int = 0) -> Tensor:
        g = problem.grad(x, s, stream)
        if g.shape != x.shape:  # what can be broadcast would go on with wrong numbers
            raise UserError(f"The problem's gradient at x of shape {tuple(x.shape)} has shape {tuple(g.shape)}.")
        return g

    state: Any = algorithm.start(_start(problem, len(mixings)), grad)
    if begin:
        state = type(state)(**fitting(begin, state._asdict()))
    else:
        with clock.evaluation():
            zetas = heterogeneity(state.x, problem, world)
        for r, zeta in enumerate(zetas):
            observer.learn(r, {"heterogeneity": zeta})
        evaluate(0)
    t = begin.step if begin else 0
    while t < steps and not all(outcomes):
        mix.begin(t)
        state = algorithm.step(state, t, grad, mix)
        t += 1
        observer.tick(t)
        if t in due:
            evaluate(t)
            if thin and 2 * sum(outcome is not None for outcome in outcomes) >= len(outcomes):
                break
        if checkpoint_every and t % checkpoint_every == 0 and t < steps:
            with clock.pause():
                moment = now(t)
                for r in (r for r, outcome in enumerate(outcomes) if outcome is None):
                    observer.checkpoint(r, moment.only([r]))
    return outcomes, now(t)
