"""The argument parser that all commands share."""

from __future__ import annotations

import argparse

from bench.terminal.command import config_flags


def command_parser(about: str | None, config: bool = False) -> argparse.ArgumentParser:
    """Return a parser whose help begins with ``about``; ``config`` adds the flags that choose configuration files."""
    parents = [config_flags()] if config else []
    return argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter, parents=parents
    )
