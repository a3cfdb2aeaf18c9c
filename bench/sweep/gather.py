"""Compose and check the runs of a command line."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence

from bench.config.distinct import same_run_twice, unique
from bench.config.plan import Make, of_command
from bench.config.run_config import RunConfig
from bench.config.source import USUAL, Source
from bench.terminal.console import Console
from bench.terminal.display import counting


def gather(
    words: Sequence[str], make: Make, errors: Console, source: Source, several: bool = True
) -> tuple[list[RunConfig], Counter[str]]:
    """Return the distinct valid runs of a sweep and the number of skipped ones by reason; print these to ``errors``."""
    skipped: Counter[str] = Counter()
    with counting(errors, "composing {} of {} configurations") as say:
        runs = of_command(words, make, several, say, skipped, source)
    if skipped:
        count = skipped.total()
        errors.print(f"Skipping {count} of {count + len(runs)} configurations, which are invalid:")
        for reason, times in skipped.items():
            errors.print(f"  {reason}{f' ({times} runs)' * (times > 1)}")
    distinct = unique(runs)
    if note := same_run_twice(runs):
        errors.print(note)
    return distinct, skipped


def sweep_name(words: Sequence[str], source: Source = USUAL) -> str:
    """Return the name of the experiment if nothing else was typed; else all settings, quoted for a shell."""
    typed = [word for word in words if "=" in word and not word.startswith(("-", "hydra", "results", "tracker"))]
    if len(typed) == 1 and not source.flags and typed[0].startswith("experiment="):
        return typed[0].partition("=")[2]
    return shlex.join([*source.flags, *typed]) or "defaults"
