"""Comparison of a method with its update rule in NumPy, written by its author.

``rule(X, W, G, T, …)`` returns X after 0, 1, …, T steps. X is (n, d), W is (n, n), and ``G(X, s)`` returns the
gradients of the nodes on sample number s, (n, d). Further arguments are passed by name: stepsizes (arrays over t),
options of the method, ``options`` (all of them), ``push`` and ``pull`` (the matrices of a directed network), and
``coin(t, p)`` (the common coin of all nodes).
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
import traceback
import typing
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bench.base.errors import UserError, closest
from bench.base.options import AtLeast, Option
from bench.contracts.fixtures import DIMENSION, KINDS, NODES, CheckFailed, Network, must, quadratics, start, stepsizes
from bench.contracts.simulate import simulate
from bench.method.algorithm import Algorithm
from bench.method.trajectory import assemble
from bench.network.mixing import build_mixing
from bench.problem.problem import vector_layout

Rule = Callable[..., Any]
T, TOLERANCE = 50, 1e-10
_gradient = quadratics()


def load(where: str) -> Rule:
    """Return the function FILE:FUNCTION."""
    file, colon, name = where.rpartition(":")
    if not colon or not name.isidentifier():
        raise UserError(f"--literal must be FILE:FUNCTION, as in my_rule.py:my_rule, got '{where}'.")
    if not Path(file).is_file():
        raise UserError(f"--literal {where}: there is no file '{file}'.")
    spec = importlib.util.spec_from_file_location(Path(file).stem, file)
    if spec is None or spec.loader is None:
        raise UserError(f"--literal needs a Python file (*.py), got '{file}'.")
    module = importlib.util.module_from_spec(spec)
    sys.path.append(str(Path(file).resolve().parent))  # for the imports of the file
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # code of a user may raise anything
        raise UserError(f"'{file}' cannot be imported: {_cause(error, file)}.") from error
    if not callable(found := getattr(module, name, None)):
        functions = [key for key, value in vars(module).items() if inspect.isfunction(value)]
        raise UserError(f"'{file}' has no function '{name}'.{closest(name, functions)}")
    return typing.cast(Rule, found)


def literal(rule: Rule, name: str) -> Callable[[type[Algorithm]], None]:
    """Return the check that a method equals this rule."""

    def check(cls: type[Algorithm]) -> None:
        options = _options(cls)
        for kind, (network, (w, pull)) in ((kind, each) for kind in KINDS for each in _networks(cls)):
            case = f"on the {network} network with schedule {kind}"
            x = start()[:, :1].expand(-1, NODES, -1) if cls.declare_for({}).exact_average else start()
            given = {**options, "schedule": kind}
            ours = simulate(cls, w, _gradient, x, T, given, pull=pull).x()[:, 0].numpy()
            known = {**_known(cls, given), "push": w.numpy(), "pull": pull.numpy()}
            by = pull if cls.declare_for({}).mixes == "pull" else w
            theirs = _ran(rule, name, x[0].numpy(), by.numpy(), known, case)
            off = np.abs(ours - theirs).max((1, 2)) / np.abs(theirs).max((1, 2)).clip(1e-300)
            must(off[0] <= TOLERANCE, f"the first array of {name} differs from the given X. Does it modify X in place?")
            t = int(np.argmax(~(off <= TOLERANCE)))
            must(t == 0, f"{case} it first differs after step {t}, by {off[t]:.2g} of the largest entry of X")

    check.__doc__ = f"{T} steps are those of {name}, on several networks and with every schedule, to {TOLERANCE:g}"
    return check


def _networks(cls: type[Algorithm]) -> Iterator[tuple[str, Network]]:
    properties = cls.declare_for({})
    if properties.exact_average:
        names = ["complete"]
    else:
        names = ["ring", "star", "complete"] if properties.mixes == "doubly" else ["directed_ring", "random_digraph"]
    for name in names:
        yield name, Network.of(build_mixing(name, NODES, lazy=properties.lambda_min is not None))


def _options(cls: type[Algorithm]) -> dict[str, Any]:
    """Return other numbers than the defaults, since a missing factor of 1 would not be noticed.

    Returns the defaults if the method rejects the others.
    """
    known = {**cls.stepsize_options(), **cls.structure_options()}
    defaults = {name: option.default for name, option in known.items()}
    other = {name: _other(option) for name, option in known.items()}
    try:
        cls.declare_for(other)
    except UserError:
        return defaults
    return other


def _other(option: Option) -> Any:
    if not option.is_number:
        return option.default
    limits = [mark for mark in getattr(option.type, "__metadata__", ()) if isinstance(mark, AtLeast)]
    changed = 0.7 * option.default
    return changed if all(changed > limit.bound for limit in limits) else option.default


def _known(cls: type[Algorithm], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that a rule may have; a stepsize replaces an option of the same name."""
    made = assemble(cls, vector_layout(DIMENSION), [options], n=NODES, T=T, dtype=torch.float64)
    own = {name: options[name] for name in cls.stepsize_options()}
    tables = {name: table.values[:, 0] for name, table in stepsizes(cls, T, **own).items()}
    return {**options, **tables, "options": dict(options), "coin": lambda t, p: bool(made.coin(t, p))}


def _ran(rule: Rule, name: str, x: np.ndarray, w: np.ndarray, known: dict[str, Any], case: str) -> np.ndarray:
    parameters = list(inspect.signature(rule).parameters.values())[4:]
    if not any(p.kind is p.VAR_KEYWORD for p in parameters):
        for p in parameters:
            must(
                p.name in known or p.default is not p.empty,
                f"{name} has the parameter '{p.name}', which is not a stepsize or option.{closest(p.name, known)}",
            )
        known = {p.name: known[p.name] for p in parameters if p.name in known}
    try:
        out = rule(x.copy(), w.copy(), _G, T, **known)
        found = np.stack([np.asarray(each, dtype=np.float64) for each in out])
    except Exception as error:  # code of a user may raise anything
        raise CheckFailed(f"{case} {name} raises {_cause(error, name.rpartition(':')[0])}") from error
    must(
        found.shape == (T + 1, *x.shape),
        f"{name} must return {T + 1} arrays {x.shape}, got {len(found)} arrays {found.shape[1:]}",
    )
    return found


def _G(X: np.ndarray, s: int, stream: int = 0) -> np.ndarray:
    return _gradient(torch.as_tensor(np.asarray(X, dtype=np.float64))[None], int(s), stream)[0].numpy()


def _cause(error: Exception, file: str) -> str:
    """Return the exception and its line in the file of the user."""
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).name == Path(file).name]
    return f"{type(error).__name__}: {error}" + (f" (line {lines[-1]})" if lines else "")
