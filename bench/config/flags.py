"""The flags of bench/run.py, which are Hydra's, and the settings of Hydra that are typed beside ours."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NamedTuple

from hydra._internal.utils import get_args_parser

from bench.base.errors import UserError
from bench.config.names import is_sweep

PARTS = ("all", "config", "defaults", "defaults-tree", "plugins", "searchpath")
"""What --info may be followed by."""
SHOW, HOW = ("cfg", "info", "help", "hydra_help", "shell_completion"), ("package", "resolve")
"""The flags with which Hydra shows something, and those that say how."""
PLUGINS = {
    "sweeper": "Type lists of values after -m, as in -m seed=0,1,2, or write an experiment, as "
    "conf/experiment/example.yaml.",
    "launcher": "Use bench/submit.py for SLURM; jobs=N makes N runs side by side on this machine.",
}
"""Kinds of plug-ins of Hydra that hearsay rejects, and what to type instead."""


class Given(NamedTuple):
    """A command line of run.py."""

    words: list[str]  # the settings
    several: bool
    shows: list[str]  # flags with which Hydra shows something, and nothing is run
    values: argparse.Namespace


def read(argv: Sequence[str]) -> Given:
    """Settings may stand on both sides of any flag."""
    argv = [*argv]
    for place, word in enumerate(argv):
        if word in ("--info", "-i") and argv[place + 1 : place + 2] not in [[part] for part in PARTS]:
            argv[place] = "--info=all"
    given = get_args_parser().parse_intermixed_args(argv)
    if given.experimental_rerun:
        raise UserError(
            "--experimental-rerun is not supported: runs leave no file of Hydra's. Type the command of the run again, "
            "with force=true."
        )
    shows, how = (
        [_typed(name, getattr(given, name)) for name in names if getattr(given, name)] for names in (SHOW, HOW)
    )
    if len(shows) > 1:
        raise UserError(f"{shows[0]} and {shows[1]} show different things: type one of them.")
    if how and not shows:
        raise UserError(f"{how[0]} is for --cfg: add --cfg=job, which shows a configuration.")
    if (given.cfg or given.info) and (several := [word for word in given.overrides if is_sweep(word)]):
        raise UserError(f"{shows[0]} shows one configuration, and {several[0]} names several values: type one of them.")
    return Given(given.overrides, given.multirun, [*shows, *how], given)


def _typed(name: str, value: str | bool) -> str:
    flag = f"--{name.replace('_', '-')}"
    return flag if value is True else f"{flag}={value}"


def refuse_plugins(words: Sequence[str]) -> None:
    """Reject other sweepers and launchers of Hydra: hearsay expands its sweeps and starts its runs itself."""
    for word in words:
        key, _, name = word.lstrip("+").partition("=")
        for kind, remedy in PLUGINS.items():
            if key in (f"hydra.{kind}", f"hydra/{kind}") and name != "basic":
                raise UserError(f"{word} is not supported. {remedy}")
