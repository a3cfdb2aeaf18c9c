"""The manners of every command: it ends with a sentence or in silence, never with a traceback a person cannot use.

A script calls ``begin`` before it imports anything large, and its ``main`` is a ``command``.
"""

from __future__ import annotations

import argparse
import codecs
import gc
import io
import os
import shutil
import signal
import sys
import textwrap
import unicodedata
from collections.abc import Callable
from functools import wraps
from types import TracebackType
from typing import Any, ParamSpec, TextIO

from bench.base import preemption
from bench.base.errors import UserError
from bench.terminal.visible import visible

P = ParamSpec("P")
PLAIN = "hearsay.plain"
INTERRUPTED = 130
"""The exit code of what Ctrl-C has ended, as shells have it."""


def begin() -> None:
    """Ctrl-C during imports ends the process with a word, a pipe may be closed by its reader, a character that the
    terminal does not have is written out or replaced, and a Python without our packages is told so."""
    gc.disable()  # until all is imported, which leaves next to no garbage: a tenth of the time would go into searching
    codecs.register_error(PLAIN, _plain)
    sys.excepthook = _uncaught
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)
    for name in ("stdout", "stderr"):
        old = getattr(sys, name)
        if isinstance(old, io.TextIOWrapper):  # None, where the descriptor is closed
            old.flush()
            raw = Pipe(old.fileno(), "w", closefd=False)
            at_once = old.line_buffering or old.write_through
            setattr(sys, name, io.TextIOWrapper(io.BufferedWriter(raw), old.encoding, PLAIN, line_buffering=at_once))


def _uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """The most frequent reason why nothing starts: not the environment that ``make install`` made."""
    if isinstance(error, ModuleNotFoundError):
        say(
            f"The Python that runs this ({sys.executable}) has no package '{error.name}', which is needed. Use that of "
            "the environment which make install made: . .venv/bin/activate, or .venv/bin/python in the place of python."
        )
    else:
        sys.__excepthook__(kind, error, trace)


def say(sentence: object, stream: TextIO | None = None, indent: int = 0) -> None:
    """On stderr, or another stream; in a terminal with lines that end between words, and go on after an indent."""
    stream = stream or sys.stderr
    text = visible(str(sentence))
    if stream and stream.isatty():
        text = wrapped(text, shutil.get_terminal_size().columns, indent)
    print(text, file=stream)


def wrapped(text: str, width: int, indent: int = 0) -> str:
    """With lines that end between words."""
    whole: Any = {"break_long_words": False, "break_on_hyphens": False, "subsequent_indent": " " * indent}
    return "\n".join(textwrap.fill(line, width, **whole) for line in text.splitlines())


def _plain(error: UnicodeError) -> tuple[str, int]:
    """Greek letters by their names; for all else a question mark."""
    assert isinstance(error, UnicodeEncodeError)
    names = [unicodedata.name(c, "") for c in error.object[error.start : error.end]]
    words = [name.split()[3].lower() if name.startswith("GREEK SMALL LETTER") else "?" for name in names]
    return "".join(words).replace("lamda", "lambda"), error.end


def config_flags() -> argparse.ArgumentParser:
    """The flags of all commands that read configurations, for ``parents``; they are Hydra's too."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument(
        "-cd",
        "--config-dir",
        metavar="FOLDER",
        help="folder with further configurations, such as FOLDER/experiment/*.yaml (default: none)",
    )
    parser.add_argument(
        "-cn", "--config-name", metavar="NAME", help="main configuration file, without .yaml (default: config)"
    )
    parser.add_argument(
        "-cp", "--config-path", metavar="FOLDER", help="folder whose files take precedence over conf (default: none)"
    )
    return parser


class Pipe(io.FileIO):
    """A descriptor whose reader may leave: what is written from then on goes nowhere, and the work goes on."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
            return super().write(data)


def _leave(number: int, frame: object) -> None:
    os.write(2, b"Interrupted.\n")
    os._exit(INTERRUPTED)  # an exception would be dressed up by whichever library is being imported


def command(main: Callable[P, int]) -> Callable[P, int]:
    """For a ``main``: what the user can put right is said in a sentence, and so is the signal that ended it."""

    @wraps(main)
    def polite(*args: P.args, **kwargs: P.kwargs) -> int:
        if signal.getsignal(signal.SIGINT) is _leave:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if not gc.isenabled():
            gc.freeze()
            gc.enable()
        try:
            return main(*args, **kwargs)
        except UserError as error:
            say(error)
        except KeyboardInterrupt:
            print("Interrupted.", file=sys.stderr)
            return INTERRUPTED
        except preemption.Preempted:
            number = preemption.requested() or signal.SIGTERM
            say(f"Interrupted by {number.name}. The same command goes on where this one stopped.")
            return 128 + number  # as shells have it
        except OSError as error:
            if error.filename is None:
                raise
            say(f"Cannot use {error.filename}: {error.strerror}.")
        return 2

    return polite
