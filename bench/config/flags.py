"""The flags of bench/run.py, which are those of Hydra, and the views of a configuration that they print."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NamedTuple

import hydra
from hydra._internal.utils import get_args_parser
from omegaconf import DictConfig

from bench.base.errors import UserError
from bench.config.compose import HYDRA_ERRORS, prepared, sentence
from bench.config.names import CONF, is_sweep
from bench.config.source import CONFIG, Source, used

PARTS = ("all", "config", "defaults", "defaults-tree", "plugins", "searchpath")
"""Values of --info."""
SHOW, HOW = ("cfg", "info", "help", "hydra_help", "shell_completion"), ("package", "resolve")
"""Flags that print a view of the configuration, and flags that modify the view."""
PLUGINS = {
    "sweeper": "Type lists of values after -m, as in -m seed=0,1,2, or write an experiment, as "
    "conf/experiment/example.yaml.",
    "launcher": "Use bench/submit.py for SLURM, or jobs=N to compute N runs at a time on this machine.",
}
"""Kinds of plug-ins of Hydra that hearsay rejects, and what to type instead."""
INSTEAD = {
    **PLUGINS,
    "mode": "Add -m for a sweep.",
    "run": "Type results=FOLDER for another results folder.",
    "sweep": "Type results=FOLDER for another results folder.",
}
"""Settings of Hydra that hearsay does not use, and what to type instead."""
USED = ("searchpath", "verbose")
"""Settings of Hydra that hearsay accepts."""


class Given(NamedTuple):
    """A command line of run.py."""

    words: list[str]  # the settings
    several: bool
    shows: list[str]  # flags that print something instead of a run
    values: argparse.Namespace


def read(argv: Sequence[str]) -> Given:
    """Parse a command line, in which settings may stand before and after any flag."""
    argv = [*argv]
    for place, word in enumerate(argv):
        if word in ("--info", "-i") and argv[place + 1 : place + 2] not in [[part] for part in PARTS]:
            argv[place] = "--info=all"
    given = get_args_parser().parse_intermixed_args(argv)
    if given.experimental_rerun:
        raise UserError("--experimental-rerun is not supported. Repeat the command of the run with force=true.")
    shows, how = (
        [_typed(name, getattr(given, name)) for name in names if getattr(given, name)] for names in (SHOW, HOW)
    )
    if len(shows) > 1:
        raise UserError(f"{shows[0]} and {shows[1]} exclude each other. Type one of them.")
    if how and not shows:
        raise UserError(f"{how[0]} needs --cfg. Add --cfg=job.")
    if (given.cfg or given.info) and (several := [word for word in given.overrides if is_sweep(word)]):
        raise UserError(f"{shows[0]} shows one configuration, but {several[0]} names several values. Type one of them.")
    return Given(given.overrides, given.multirun, [*shows, *how], given)


def _typed(name: str, value: str | bool) -> str:
    flag = f"--{name.replace('_', '-')}"
    return flag if value is True else f"{flag}={value}"


def refuse_plugins(words: Sequence[str]) -> None:
    """Reject settings of Hydra without effect: hearsay expands its sweeps and starts its runs itself."""
    for word in words:
        key, _, name = word.lstrip("+~").partition("=")
        first, _, inner = key.replace("/", ".").partition(".")
        kind, _, deeper = inner.partition(".")
        if first != "hydra" or not kind or kind in USED:
            continue
        if kind in PLUGINS and not deeper:
            if name != "basic":
                raise UserError(f"{word} is not supported. {PLUGINS[kind]}")
        elif not any(f"${{hydra:{inner}" in other for other in words):
            remedy = INSTEAD.get(kind, "Remove it. The supported setting of Hydra is hydra.searchpath.")
            raise UserError(f"hearsay does not use '{key}'. {remedy}")


@hydra.main(version_base="1.3", config_path=str(CONF), config_name=CONFIG)
def _main(config: DictConfig) -> None:
    """Hydra calls this function only if no view is requested."""


def show(words: Sequence[str], flags: Sequence[str], source: Source) -> None:
    """Print the view that ``flags`` request; Hydra accepts no settings after its flags."""
    source, words = prepared(words, source)
    sys.argv[1:] = [*words, *flags, f"--config-path={source.main}", f"--config-name={source.name}"]
    os.environ["HYDRA_FULL_ERROR"] = "1"  # errors reach this function instead of being printed with a traceback
    try:
        with used(source):
            _main()
    except HYDRA_ERRORS as error:
        raise UserError(sentence(error, words, source)) from error
    except ValueError as error:  # flags that exclude each other
        raise UserError(f"{' '.join([*flags, *words])}: {error}.") from error
