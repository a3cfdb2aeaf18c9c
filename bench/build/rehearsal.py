"""Short runs with plug-ins, to detect code whose numbers depend on anything but its arguments.

A run is made twice. The second run is built anew and resumes the first one. Code that keeps values between calls, or
draws without a key, gives other numbers there. Two more runs have a second replica, which differs between them. Code
that reduces over replicas gives the first replica other numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from bench.base.authors import blamed, flaw
from bench.base.errors import UserError
from bench.base.registry import links, topologies, weight_rules
from bench.build.build import build_algorithm, build_compressor
from bench.build.events import events_of
from bench.build.fingerprint import choices, is_plugin
from bench.build.global_draws import GlobalDraws, either, plugins_of, remedy
from bench.build.network import mixing_of, new_mixing
from bench.build.probe import CLOSE, FAR, small_problem
from bench.build.rates import rates_of
from bench.config.run_config import GROUPS, RunConfig
from bench.method import Algorithm, Grad, Mix
from bench.network.mixing import Mixing
from bench.problem.problem import Problem, Setting
from bench.store.record import COLUMNS, Row
from bench.training.hosting import OneProcess
from bench.training.loop import Timetable, Training
from bench.training.mixers import make_mixer
from bench.training.observer import Observer, Snapshot

STEPS, RESUMED = 5, 2
"""Steps of the first run, and the step from which the second run resumes it."""
PAIRED = 3
"""Steps of the runs with two replicas."""
LARGEST = 10_000_000
"""Numbers of a state, n · P, up to which a run is rehearsed."""
_passed: set[str] = set()


def rehearse(config: RunConfig, tick: Callable[[int], None] = lambda t: None) -> None:
    """Make a few steps several times on few samples, on the CPU; raise ``UserError`` if the numbers differ.

    Args:
        config: The run. Nothing happens without plug-ins, and for runs that differ only in seed and stepsizes from one
            that has passed.
        tick: Called after every step.
    """
    if (key := program_key(config)) in _passed:
        return
    if plugins := plugins_of(config):
        mixings = _mixings(config)  # a graph may seed a global generator itself: only the numbers must agree
        draws = GlobalDraws()
        differ = _differ(config, mixings, tick)
        draws.check(plugins)
        if differ:
            raise UserError(
                f"{either(plugins)} gives other numbers when a resumed run computes the same steps again. Code of "
                "plug-ins must depend on its arguments only: keep the values of a method in its state, and use neither "
                f"counters nor the time. {remedy(plugins)}"
            )
        if _coupled(config, mixings[0], tick):
            raise UserError(
                f"{either(plugins)} gives a run other numbers when other seeds are computed together with it. Tensors "
                "have an axis for the R replicas and one for the nodes, (R, k, P). Reduce over the last axis only, as "
                "in x.norm(dim=-1, keepdim=True); metrics must return one value per replica."
            )
    _passed.add(key)


def program_key(config: RunConfig) -> str:
    """Return a key that is equal for runs that differ only in seed, stepsizes and other numbers of the method."""
    algo = {name: value for name, value in config.algo.options.items() if not isinstance(value, float)}
    others = [getattr(config, group) for group in GROUPS if group not in ("algo", "engine", "tracker")]
    named = [(choice.name, choice.options) for choice in others]
    return repr([config.algo.name, algo, named, config.nodes, config.dtype, config.batch_size, config.inputs])


class _Malformed(Exception):
    """A method returns a state of the wrong type or shape."""


class _Kept(Observer):
    """The checkpoints and the last row of the first replica of a run."""

    def __init__(self, tick: Callable[[int], None]) -> None:
        self.checkpoints: dict[int, Snapshot] = {}
        self.row: Row = {}
        self._tick = tick

    def tick(self, t: int) -> None:
        self._tick(t)

    def record(self, r: int, row: Row) -> None:
        if r == 0:
            self.row = row

    def checkpoint(self, r: int, moment: Snapshot) -> None:
        if r == 0:
            self.checkpoints[moment.step] = moment


class _Played(NamedTuple):
    end: Snapshot
    kept: _Kept


def _mixings(config: RunConfig) -> list[Mixing]:
    """Return the network of each run; of a plug-in's network, the second one is built again."""
    own = (is_plugin(*choice) for choice in choices(config) if choice[0] in (topologies, weight_rules, links))
    return [mixing_of(config), new_mixing(config) if any(own) else mixing_of(config)]


def _differ(config: RunConfig, mixings: list[Mixing], tick: Callable[[int], None]) -> bool:
    """Return whether the two runs differ; False if one raises an error, which the run itself reports.

    Raises:
        UserError: The method returns a state that cannot be read.
    """
    try:
        steps = min(STEPS, config.steps)
        first = _play(config, mixings[0], range(steps + 1), _Kept(tick))
        if first is None or first.end.step < steps:  # not finite
            return False
        second = _play(config, mixings[1], [steps], _Kept(tick), first.kept.checkpoints.get(RESUMED))
        far = CLOSE if config.dtype == "float64" else FAR
        return second is not None and not _equal(first, second, far)
    except _Malformed as error:
        name = config.algo.name
        raise UserError(f"algo={name}: {error}; run `python bench/contract.py {name}`") from error
    except (Exception, SystemExit):  # a plug-in may raise anything
        return False


def _coupled(config: RunConfig, mixing: Mixing, tick: Callable[[int], None]) -> bool:
    """Return whether a run differs with the replica beside it; False if one raises an error.

    Both runs have tensors of the same shapes, so that rounding does not differ.
    """
    due = [min(PAIRED, config.steps)]
    try:
        one, other = (_play(config, mixing, due, _Kept(tick), beside=by) for by in (1, 10))
    except (Exception, SystemExit):  # a plug-in may raise anything
        return False
    far = CLOSE if config.dtype == "float64" else FAR  # iterative code of a plug-in may stop at a tolerance
    return one is not None and other is not None and not _equal(one, other, far, far)


def _play(
    config: RunConfig,
    mixing: Mixing,
    due: range | list[int],
    kept: _Kept,
    begin: Snapshot | None = None,
    beside: int | None = None,
) -> _Played | None:
    """Run up to the last step of ``due``; None if the run is too large.

    With ``beside``, there is a second replica, whose seed and start depend on this number.
    """
    dtype, cpu = getattr(torch, config.dtype), torch.device("cpu")
    n, seeds = config.nodes, (config.seed,) if beside is None else (config.seed, config.seed + beside)
    problem = small_problem(config, Setting(n, range(n), seeds, 2, dtype, cpu, rates_of(config)))
    if n * problem.layout.size * len(seeds) > LARGEST:
        return None
    if beside is not None:
        _move(problem, beside)
    replicas, mixings = [config] * len(seeds), [mixing] * len(seeds)
    algorithm, compressor = build_algorithm(replicas, problem), build_compressor(config, problem.layout.size)
    _watch(algorithm)
    hosting = OneProcess(n, events_of(config) or make_mixer(mixings, dtype, cpu))
    timetable = Timetable(due[-1], due, 1)
    training = Training(algorithm, problem, hosting, mixings, timetable, kept, begin, compressor)
    with torch.no_grad() if problem.autograd else torch.inference_mode():
        return _Played(training.run()[1].only([0]), kept)


def _move(problem: Problem, by: int) -> None:
    """Let this problem start its second replica at another point, since the seed alone may not change it."""
    start = problem.start

    def moved() -> Tensor:
        x = start().clone()
        x[1] += 0.1 * by * torch.cos(torch.arange(x.shape[-1], dtype=x.dtype))
        return x

    vars(problem).update(start=moved)


def _watch(algorithm: Algorithm) -> None:
    """Let this object raise ``_Malformed`` if a state cannot be read, or if ``step`` uses a tuple as a tensor."""
    start, step = algorithm.start, algorithm.step

    def checked(make: Callable[[], Any], shape: Sequence[int], t: int) -> Any:
        try:
            wrong = flaw(state := make(), shape, t)
        except (TypeError, AttributeError) as error:
            if len(lines := blamed(error, type(algorithm))) < 2:  # the cause is not known: the run reports the error
                raise
            wrong = f"{type(error).__name__}: {error} ({'; '.join(lines)})"
        if wrong:
            raise _Malformed(wrong)
        return state

    def first(x: Tensor, grad: Grad, mix: Mix) -> Any:
        return checked(lambda: start(x, grad, mix), x.shape, 0)

    def later(s: Any, t: int, grad: Grad, mix: Mix) -> Any:
        return checked(lambda: step(s, t, grad, mix), s.x.shape, t + 1)

    vars(algorithm).update(start=first, step=later)


def _equal(one: _Played, other: _Played, far: float, far_metrics: float = 0.0) -> bool:
    """Return whether two runs end with equal states and messages, and then with equal metrics.

    Rounding may differ where a method keeps a view with other strides than the tensors of a checkpoint.
    """
    states = ({**played.end.state, **played.end.in_flight} for played in (one, other))
    a, b = ({name: value.double().numpy() for name, value in state.items()} for state in states)
    if [(name, value.shape) for name, value in a.items()] != [(name, value.shape) for name, value in b.items()]:
        return False
    if all(np.array_equal(a[name], b[name], equal_nan=True) for name in a):
        own = [name for name in one.kept.row if name not in COLUMNS]  # of the problem and of plug-ins
        columns = ["train_loss", "test_loss", "node_loss", "grad_norm", *own]
        rows = [np.array([played.kept.row[name] for name in columns], dtype=float) for played in (one, other)]
        return np.allclose(rows[0], rows[1], rtol=far_metrics, atol=0, equal_nan=True)
    largest = max(float(np.abs(value).max(initial=0)) for value in a.values())
    return all(np.allclose(a[name], b[name], rtol=0, atol=far * largest, equal_nan=True) for name in a)
