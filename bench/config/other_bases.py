"""Numbers in the files of a configuration that YAML reads in another base: 010 as 8, and 1:30 as 90."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import yaml

from bench.base.errors import UserError
from bench.base.small_file import content_up_to
from bench.config.run_config import GROUPS
from bench.config.source import Source

SIXTY = r"[1-9][0-9_]*(:[0-5]?[0-9])+|[0-9][0-9_]*(:[0-5]?[0-9])+[.][0-9_]*"
"""Integers and fractions in base 60: YAML reads 0:30.5 as a number, but not 0:30."""
OTHER_BASE = re.compile(rf"(?<![\w.:])[-+]?(0[0-7_]+|{SIXTY})(?![\w.:])")

LONGEST = 40
"""The largest number of characters of a number that are read: the time of YAML grows with its square."""


def check_integers(words: Sequence[str], source: Source) -> None:
    """Raise ``UserError`` if the main file, or a file that a word names, has a number in base 8 or 60."""
    names = [source.name]
    for word in words:
        group, _, values = word.lstrip("+").partition("=")
        names += [f"{group}/{value}" for value in values.split(",") if group in (*GROUPS, "experiment")]
    for name in names:
        files = (folder / f"{name}.yaml" for folder in source.folders())
        if file := next((file for file in files if os.path.isfile(file)), None):  # noqa: PTH113 - accepts any name
            _check(file)


def _check(file: Path) -> None:
    text = content_up_to(file).decode(errors="replace")
    if not OTHER_BASE.search(text):  # most files: this takes less time than reading YAML
        return
    with suppress(yaml.YAMLError):  # Hydra reports it
        for token in yaml.scan(text):
            if isinstance(token, yaml.ScalarToken) and token.plain and OTHER_BASE.fullmatch(token.value):
                meant = "A list is written [0, 1, 2]" if ":" in token.value else "Remove the leading zero"
                short = token.value[:LONGEST]
                raise UserError(
                    f"{file}, line {token.start_mark.line + 1}: YAML would read {short} as {yaml.safe_load(short)}. "
                    f"{meant}; if it is a text, write '{short}' in quotes."
                )
