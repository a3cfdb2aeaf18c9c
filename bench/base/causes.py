"""Whose fault it is: of the results folder, of this machine, or of the code that ran; and what helps."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.base.errors import UserError
from bench.base.machine import SHORTAGES, shortage

SHOWN = 600
"""Characters of an error that a terminal shows; the log has all of them."""


class Failure(Exception):
    """Why a run failed, in a sentence; and what there is to read about it."""

    def __init__(self, sentence: str, details: str = "") -> None:
        super().__init__(sentence)
        self.details = details


class StoreError(Failure):
    """The results folder does not take what a run has to keep."""


@contextmanager
def storing(path: Path) -> Iterator[None]:
    """What fails inside is the results folder's fault, not the run's."""
    try:
        yield
    except OSError as error:
        raise StoreError(machine(error) or unwritable(path, error)) from error


def unwritable(path: Path, error: OSError) -> str:
    return f"Cannot write to the results folder '{path}': {error.strerror or error}."


def machine(error: BaseException) -> str | None:
    """A sentence, where it is this machine that lacks something."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":  # torch's, of a GPU
        return f"{SHORTAGES[errno.ENOMEM]} ({type(error).__name__}: {error})."
    return shortage(error) if isinstance(error, OSError) else None


def sentence(error: BaseException) -> str:
    """What ended a run, in the words of whoever knows best."""
    if isinstance(error, UserError | Failure):
        return str(error)
    return machine(error) or f"{type(error).__name__}: {error}"


def shortened(text: str) -> str:
    """For a terminal: the beginning and the end of what is too long."""
    if len(text) <= SHOWN:
        return text
    half = SHOWN // 2
    return f"{text[:half]} … ({len(text) - 2 * half} characters are in the log) … {text[-half:]}"
