"""The flags of bench/run.py, which are Hydra's, and the settings of Hydra that are typed beside ours."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NamedTuple

from hydra._internal.utils import get_args_parser

from bench.base.errors import UserError
from bench.config.names import is_sweep
from bench.config.source import Source

PARTS = ("all", "config", "defaults", "defaults-tree", "plugins", "searchpath")
"""What --info may be followed by."""
SHOW, HOW = ("cfg", "info", "help", "hydra_help", "shell_completion"), ("package", "resolve")
"""The flags with which Hydra shows something, and those that say how."""
LAUNCHERS = ("basic", "submitit_local", "submitit_slurm")
"""Those of Hydra and of its plug-in for submitit; conf/hydra/launcher has the others."""
SWEEPER = (
    "is not supported: hearsay makes its sweeps itself. Type lists of values after -m, as in -m seed=0,1,2, or write "
    "an experiment, as conf/experiment/example.yaml."
)


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


def is_hydras(word: str) -> bool:
    """Whether it is a setting of Hydra, or refers to one."""
    return "${hydra" in word or word.lstrip("+~").startswith(("hydra.", "hydra/"))


def launcher_of(words: Sequence[str], source: Source) -> str | None:
    """The word that names a launcher, where jobs are to be sent off; an error for what is not supported."""
    found = None
    known = {*LAUNCHERS, *(file.stem for home in source.folders() for file in (home / "hydra/launcher").glob("*.yaml"))}
    for word in words:
        key, _, name = word.lstrip("+").partition("=")
        if key == "hydra.sweeper" or (key == "hydra/sweeper" and name != "basic"):
            raise UserError(f"{word} {SWEEPER}")
        if key == "hydra.launcher" or (key == "hydra/launcher" and name not in known):
            raise UserError(
                f"{word} is not supported. Type -m hydra/launcher=NAME with one of {', '.join(sorted(known))}, or use "
                "bench/submit.py for SLURM; jobs=N makes N runs side by side on this machine."
            )
        if key == "hydra/launcher":
            found = word if name != "basic" else None
    return found
