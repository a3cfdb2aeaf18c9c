"""Detects problems of plug-ins whose numbers depend on how the nodes are divided among processes."""

from __future__ import annotations

from contextlib import suppress

import torch
from torch import Tensor

from bench.base.errors import UserError
from bench.base.registry import datasets
from bench.build.fingerprint import is_plugin
from bench.build.material import is_problem
from bench.build.probe import FUNCTIONS, called, nearby
from bench.build.rates import rates_of
from bench.config.run_config import RunConfig
from bench.problem.problem import Evaluation, Problem, Setting

NODES = 3
"""Nodes that one process computes, or two processes: the first node and the others."""
FAR, TINY = 1e-3, 1e-5
"""Differences that rounding to float32 can explain, relative to a number and to the largest number beside it."""
ROWS = (
    "Row i of a process must belong to node setting.hosted[i], and must not depend on other rows: index values of all "
    "nodes with list(setting.hosted), and draw with setting.draw."
)
SHARE = (
    "It must return the share of this process, since the shares are summed: sum over the nodes in setting.hosted and "
    "divide by setting.nodes, or multiply by hosted_share(setting)."
)


def check_hosted(config: RunConfig) -> None:
    """Raise ``UserError`` if a plug-in's problem gives other numbers in two processes than in one.

    Code that raises an error is skipped: the run itself reports it.
    """
    name, nodes = config.dataset.name, min(config.nodes, NODES)
    if nodes == 1 or not (is_problem(datasets[name]) and is_plugin(datasets, name)):
        return
    wrong = None
    with suppress(Exception, SystemExit):  # a plug-in may raise anything
        wrong = _wrong(*(_problem(config, hosted) for hosted in (range(nodes), range(1), range(1, nodes))))
    if wrong:
        raise UserError(
            f"dataset={name}: {wrong} gives other numbers if two processes divide the nodes, as with engine=mpi. "
            f"{SHARE if wrong == 'evaluate' else ROWS}"
        )


def _problem(config: RunConfig, hosted: range) -> Problem:
    cpu = torch.device("cpu")
    setting = Setting(config.nodes, hosted, (config.seed,), config.batch_size, torch.float64, cpu, rates_of(config))
    problem: Problem = datasets[config.dataset.name](setting, **config.dataset.options)
    return problem


def _wrong(whole: Problem, *parts: Problem) -> str | None:
    """Return the first function whose numbers differ between a problem and its parts; None if there is none."""
    with torch.no_grad() if whole.autograd else torch.inference_mode():
        start = whole.start()
        if not _agree(start, torch.cat([part.start() for part in parts], dim=1)):
            return "start"
        x = nearby(start) + 0.05 * torch.arange(start.shape[1], dtype=start.dtype)[:, None]
        mean = x.mean(1)
        for name in FUNCTIONS:
            with suppress(Exception, SystemExit):
                made = [called(part, name, x[:, list(part.setting.hosted)], mean) for part in (whole, *parts)]
                first, *others = map(_tensor, made)
                if not (_add_up(first, others) if name == "evaluate" else _agree(first, torch.cat(others, dim=1))):
                    return name
    return None


def _tensor(made: Evaluation | list[Tensor] | Tensor) -> Tensor:
    """Return the numbers of a function; nodes are the second axis, except in an evaluation."""
    if isinstance(made, Evaluation):
        return made.flat()
    return torch.stack(list(made), dim=1) if not isinstance(made, Tensor) else made


def _add_up(whole: Tensor, shares: list[Tensor]) -> bool:
    total = torch.stack(shares).sum(0)
    return _agree(whole, total, torch.stack([whole, *shares]).abs().amax(0))


def _agree(one: Tensor, other: Tensor, size: Tensor | None = None) -> bool:
    """Return whether finite numbers agree up to rounding, which is relative to ``size``, by default their own."""
    if one.shape != other.shape:
        return False
    size = torch.maximum(one.abs(), other.abs()) if size is None else size
    finite = torch.isfinite(one) & torch.isfinite(other) & torch.isfinite(size)
    far = FAR * size + TINY * size[finite].max() if finite.any() else size
    return bool(((one - other).abs() <= far)[finite].all())
