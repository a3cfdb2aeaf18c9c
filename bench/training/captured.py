"""Steps on a GPU as one CUDA graph: captured once and replayed for every t, with the same numbers bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor

from bench.base.step_index import Capture, NotCapturable, StepIndex
from bench.method.algorithm import Algorithm
from bench.problem.problem import Problem
from bench.store.record import Row
from bench.training.costs import CostCounter
from bench.training.network import Network, make_oracles

WARM = 3
"""Steps that run as usual before one is captured: libraries set themselves up in them."""
WORTH = 50
"""Fewer remaining steps are not worth a capture."""

Step = Callable[[Any, int], Any]


class Recorder:
    """Stands in for the costs while a step is captured, and charges them for every replay."""

    def __init__(self, costs: CostCounter, first_round: StepIndex) -> None:
        self._costs, self._first = costs, first_round
        self._calls: list[Callable[[int], object]] = []
        self.rounds = 0

    @property
    def round(self) -> Any:
        """The number of the round, counted on the GPU."""
        return self._first + self.rounds

    def sample(self, s: Any, stream: int) -> None:
        self._calls.append(lambda t: self._costs.sample(s.value(t) if isinstance(s, StepIndex) else s, stream))

    def all_data(self) -> None:
        self._calls.append(lambda t: self._costs.all_data())

    def sent(self, widths: tuple[int, ...], t: Any, when: Any = None, bits: int | None = None) -> None:
        if when is not None:
            raise NotCapturable("it decides on the CPU which replicas communicate")
        self._calls.append(lambda t: self._costs.sent(widths, t, bits=bits))
        self.rounds += 1

    def charge(self, t: int) -> None:
        """Charge what the captured step costs to step t."""
        for call in self._calls:
            call(t)


class Untimed:
    """Stands in for the clock: a captured step is one unit of work for the GPU, whose rounds have no times."""

    def gpu_round(self) -> AbstractContextManager[None]:
        """Time nothing."""
        return nullcontext()

    def timing(self, part: str) -> AbstractContextManager[None]:
        """Time nothing."""
        return nullcontext()


class CapturedStep:
    """``algorithm.step`` as a CUDA graph; ``step(state, t)`` returns buffers that the next call overwrites."""

    def __init__(
        self, algorithm: Algorithm, problem: Problem, network: Network, costs: CostCounter, state: Any, t: int
    ) -> None:
        """Capture step t from this state.

        Raises:
            NotCapturable: The step does something on the CPU that differs from step to step.
        """
        self._algorithm, self._problem, self._network, self._costs = algorithm, problem, network, costs
        self._state = type(state)(*(tensor.clone() for tensor in state))
        self._t, self._round = (torch.tensor([number], device=state.x.device) for number in (t, costs.round))
        self._capture = Capture([value for value in vars(algorithm).values() if isinstance(value, Tensor)])
        self._record(t)

    def _record(self, t: int) -> None:
        side = torch.cuda.Stream(self._state.x.device)
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            self._run(t)  # a rehearsal, which raises NotCapturable before anything is captured
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph, stream=side, capture_error_mode="thread_local"):
            self._recorder = self._advance(t)

    def _run(self, t: int) -> tuple[Any, Recorder]:
        """Run the step with a step number that lives on the GPU."""
        recorder = Recorder(self._costs, StepIndex(self._capture, self._round, self._costs.round))
        index: Any = StepIndex(self._capture, self._t, t)
        network = self._network.recording(recorder, Untimed(), index)
        return self._algorithm.step(self._state, index, *make_oracles(self._problem, network, recorder)), recorder

    def _advance(self, t: int) -> Recorder:
        """Run the step and put the new state, step and round into their buffers."""
        after, recorder = self._run(t)
        fresh = [x.clone() if shares(x, self._state) else x for x in after]
        for buffer, x in zip(self._state, fresh, strict=True):
            buffer.copy_(x)
        self._t += 1
        self._round += recorder.rounds
        return recorder

    def __call__(self, t: int) -> Any:
        """Replay step t."""
        self._capture.refill(t)
        self._graph.replay()
        self._recorder.charge(t)
        return self._state

    def leave(self) -> Any:
        """Return the state as tensors of its own, to go on without replays."""
        return type(self._state)(*(tensor.clone() for tensor in self._state))


class ReplayedSteps:
    """The steps of a run on a GPU: the first ones one by one, the others as replays of a captured one."""

    def __init__(
        self,
        eager: Step,
        algorithm: Algorithm,
        problem: Problem,
        network: Network,
        costs: CostCounter,
        steps: int,
        learn: Callable[[Row], None],
    ) -> None:
        """``eager(state, t)`` is the step without capture; ``learn`` hears whether steps are captured."""
        self._eager, self._parts, self._steps, self._learn = eager, (algorithm, problem, network, costs), steps, learn
        self._made = 0
        self._captured: CapturedStep | None = None
        self._tried = False

    def __call__(self, state: Any, t: int) -> Any:
        if self._made >= WARM and not self._tried and self._steps - t >= WORTH:
            self._tried = True
            self._try(state, t)
        if self._captured is not None:
            try:
                return self._captured(t)
            except NotCapturable as error:
                self._learn({"not_captured": str(error)})
                state, self._captured = self._captured.leave(), None
        self._made += 1
        return self._eager(state, t)

    def _try(self, state: Any, t: int) -> None:
        try:
            self._captured = CapturedStep(*self._parts, state, t)
        except Exception as error:  # whatever a plug-in does that a graph cannot hold; a real error comes again
            self._learn({"not_captured": str(error) if isinstance(error, NotCapturable) else f"{error!r:.200}"})


def shares(x: Tensor, state: Any) -> bool:
    """Whether x lies in the memory of a buffer, which would be overwritten before x is copied."""
    return any(x.untyped_storage().data_ptr() == buffer.untyped_storage().data_ptr() for buffer in state)
