"""Run a sweep from Python."""

from __future__ import annotations

import sys
import threading
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.base import preemption
from bench.base.errors import UserError
from bench.base.home import expanded
from bench.terminal.console import Console
from bench.terminal.notebook import in_notebook
from bench.terminal.table import mixed_in
from bench.terminal.visible import visible

if TYPE_CHECKING:
    import pandas as pd

    from bench.sweep.sweep import Result

NOTEBOOK = 100
"""Columns of the table below a cell."""
_composing = threading.RLock()
"""Held by the thread that composes configurations, since Hydra and the plug-ins are global."""
_sweeping: set[int] = set()
"""The threads that compute a sweep."""


def sweep(settings: Mapping[str, Any] | None = None, /, *, quiet: bool = False, **more: Any) -> pd.DataFrame:
    """Run all combinations of the given settings, and return their evaluations as one table.

    This is ``bench/run.py -m`` as a function: it rejects invalid settings before any run starts, skips and reports
    incompatible combinations, reuses finished runs, and resumes interrupted ones.

    Args:
        settings: Settings whose names have a dot, such as ``{"algo.eta": [0.01, 0.1]}``. A list is a sweep.
        quiet: Print nothing about the progress and the result. Skipped combinations and failed runs are still reported.
        **more: Settings without a dot, such as ``algo=["dnasa", "dsgt"]``, ``steps=200`` or ``results="results"``.

    Returns:
        One row per run and evaluation, in the order of the sweep. The columns are the settings, ``state``, the metrics,
        and ``folder``, the folder of the run. A run without an evaluation, such as a failed one, has one row without
        metrics. ``sweep`` warns about each failed run, and about runs that another command has changed since.

    Raises:
        UserError: A setting is unknown or invalid, or finished runs were computed with another version of the source.
        KeyboardInterrupt: The user interrupted the sweep. The same call resumes it.

    Example:
        >>> runs = sweep(algo=["dnasa", "dsgt"], topology=["ring", "complete"], steps=200)
        >>> runs.groupby(["algo", "topology"])["train_loss"].last()
    """
    from bench.base.registry import say_broken_plugins
    from bench.config.source import USUAL
    from bench.sweep.gather import gather, sweep_name
    from bench.sweep.preflight import checked
    from bench.sweep.sweep import run_sweep
    from hearsay.plugins import refuse_edited, register_cells
    from hearsay.reading import evaluations
    from hearsay.settings import words

    settings = dict(settings or {})
    if twice := settings.keys() & more.keys():
        raise UserError(f"{min(twice)} is given twice. Give it once.")
    typed = words({**settings, **more})
    place = more.get("results", settings.get("results", "results"))
    with full_precision():
        with _composing:
            register_cells(_folder(place), typed)
            say_broken_plugins()
            source, typed = USUAL.divide(typed)
            configs, _ = gather(typed, checked, Console(stderr=True, soft_wrap=True), source)
            refuse_edited(configs)
        with preemptible():
            results = run_sweep(configs, console(quiet), sweep_name(typed, source))
    for sentence in _notes(results, quiet):
        warnings.warn(visible(sentence), stacklevel=2)
    return evaluations(results)


def _notes(results: Sequence[Result], quiet: bool) -> Iterator[str]:
    """Yield a sentence about each run that failed, or that another command has changed.

    A quiet sweep prints nothing, so that another one says whether the runs were made with different software.
    """
    for result in results:
        if result.error is not None:
            yield f"{result.path.name} failed: {result.error}"
        elif sentence := result.changed():
            yield f"{sentence} The returned table has its present evaluations."
    ended = [(result.config.algo.name, result.path) for result in results if result.error is None]
    if quiet and (sentence := mixed_in(ended)):
        yield sentence


def _folder(place: Any) -> Path:
    """Return the results folder as its runs have it; of several folders the first one."""
    from bench.config.compose import compose_one
    from hearsay.settings import words

    first = place if isinstance(place, str | Path) or not isinstance(place, Iterable) else next(iter(place), "results")
    if "$" in str(first):  # composing takes 0.2 s, so it is done for interpolations only
        return Path(compose_one(words({"results": first})).results)
    return expanded(str(first))


def console(quiet: bool) -> Console:
    """Return the console of a sweep."""
    width = NOTEBOOK if in_notebook() else None if sys.stdout.isatty() else 140
    return Console(quiet=quiet, width=width)


@contextmanager
def full_precision() -> Iterator[None]:
    """Disable torch.autocast of the caller, and fewer bits in products, which would change the numbers of runs."""
    import torch

    from bench.build.torch_setup import own_precision

    with torch.autocast("cpu", enabled=False), torch.autocast("cuda", enabled=False), own_precision():
        yield


@contextmanager
def preemptible() -> Iterator[None]:
    """Let runs write a checkpoint when a queue sends a signal, which then has its usual effect on this process."""
    thread = threading.get_ident()
    _sweeping.add(thread)
    try:
        if threading.current_thread() is not threading.main_thread():  # Python delivers signals to the main thread only
            yield
            return
        received = None
        with preemption.listening():
            try:
                yield
            except preemption.Preempted:
                received = preemption.requested()
            while preemption.requested() and len(_sweeping) > 1:
                time.sleep(0.05)  # sweeps of other threads write their checkpoints
        if received:
            raise SystemExit(128 + received)  # a handler of the user has returned
    finally:
        _sweeping.discard(thread)
