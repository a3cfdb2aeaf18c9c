"""Whose fault it is: of the results folder, of this machine, or of the code that ran; and what helps."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.registry import UserError

SHOWN = 600
"""Characters of an error that a terminal shows; the log has all of them."""
REMEDIES = {
    errno.EMFILE: "This process may not open more files: raise the limit (ulimit -n) or use fewer jobs",
    errno.ENFILE: "This machine may not open more files: close some programs, or raise fs.file-max",
    errno.ENOLCK: "The file system gives no locks: use a results folder on a local disk (results=...)",
    errno.ENOMEM: "This machine is out of memory: use fewer jobs, a smaller engine.memory_gb or fewer nodes",
    errno.EAGAIN: "This machine starts no more processes: use fewer ranks or jobs, or raise ulimit -u",
}
"""What the machine lacks, by the number of the error."""


class StoreError(Exception):
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
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":  # of torch, for a GPU
        return f"{REMEDIES[errno.ENOMEM]} ({type(error).__name__}: {error})."
    if isinstance(error, OSError) and error.errno in REMEDIES:
        return f"{REMEDIES[error.errno]} ({error})."
    return None


def sentence(error: BaseException) -> str:
    """What ended a run, in the words of whoever knows best."""
    if isinstance(error, UserError | StoreError):
        return str(error)
    return machine(error) or f"{type(error).__name__}: {error}"


def shortened(text: str) -> str:
    """For a terminal: the beginning and the end of what is too long."""
    if len(text) <= SHOWN:
        return text
    half = SHOWN // 2
    return f"{text[:half]} … ({len(text) - 2 * half} characters are in the log) … {text[-half:]}"
