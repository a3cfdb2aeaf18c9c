"""The first line of bench/run.py, printed before the imports of torch and Hydra, which take seconds."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from bench.terminal.command import say

VIEWS = {"-c", "--cfg", "-i", "--info", "--hydra-help", "-sc", "--shell-completion", "--version"}
"""Flags of commands that run nothing."""


def say_starting(words: Sequence[str]) -> None:
    """Print the settings of a command that runs something."""
    if VIEWS.isdisjoint(word.partition("=")[0] for word in words):
        say(f"Starting {shlex.join(words) or 'the default run'}")
