"""Messages and exit codes of all commands: users see sentences, not tracebacks.

A script calls ``begin`` before it imports large packages, and decorates its ``main`` with ``command``.
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
from contextlib import suppress
from functools import wraps
from types import TracebackType
from typing import Any, ParamSpec, TextIO

from bench.base import preemption
from bench.base.errors import UserError
from bench.terminal.visible import visible

P = ParamSpec("P")
PLAIN = "hearsay.plain"
INTERRUPTED = 130
"""The exit code after Ctrl-C, as in shells."""


def begin() -> None:
    """Prepare a command: Ctrl-C during imports, closed pipes, terminals without Unicode, missing packages."""
    gc.disable()  # until all modules are imported: they leave little garbage, and searching takes a tenth of the time
    codecs.register_error(PLAIN, _plain)
    sys.excepthook = _uncaught
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)
    _open_closed_descriptors()
    for name in ("stdout", "stderr"):
        old = getattr(sys, name)
        if old is None:  # the descriptor was closed
            setattr(sys, name, open(os.devnull, "w"))  # noqa: PTH123, SIM115
        elif isinstance(old, io.TextIOWrapper):
            old.flush()
            raw = Pipe(old.fileno(), "w", closefd=False)
            at_once = old.line_buffering or old.write_through
            setattr(sys, name, io.TextIOWrapper(io.BufferedWriter(raw), old.encoding, PLAIN, line_buffering=at_once))


def _open_closed_descriptors() -> None:
    """Open descriptors 0 to 2 on /dev/null if they are closed: files opened later must not become standard streams."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest free number


def _uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Explain a missing package: the usual cause is a Python outside of the environment of ``make install``."""
    if isinstance(error, ModuleNotFoundError):
        say(
            f"This Python ({sys.executable}) lacks the package '{error.name}'. Use the environment of make install: "
            "type . .venv/bin/activate first, or .venv/bin/python instead of python."
        )
    else:
        sys.__excepthook__(kind, error, trace)


def say(sentence: object, stream: TextIO | None = None, indent: int = 0) -> None:
    """Print to stderr or another stream; in a terminal, wrap lines between words and indent continued lines."""
    stream = stream or sys.stderr
    text = visible(str(sentence))
    if stream and stream.isatty():
        text = wrapped(text, shutil.get_terminal_size().columns, indent)
    print(text, file=stream)


def wrapped(text: str, width: int, indent: int = 0) -> str:
    """Return the text with line breaks between words and an indent of continued lines."""
    wrapper = textwrap.TextWrapper(
        width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False
    )
    return "\n".join(map(wrapper.fill, text.splitlines()))


def _plain(error: UnicodeError) -> tuple[str, int]:
    """Encode Greek letters by their names, other characters as question marks."""
    assert isinstance(error, UnicodeEncodeError)
    names = [unicodedata.name(c, "") for c in error.object[error.start : error.end]]
    words = [name.split()[3].lower() if name.startswith("GREEK SMALL LETTER") else "?" for name in names]
    return "".join(words).replace("lamda", "lambda"), error.end


def config_flags() -> argparse.ArgumentParser:
    """Return the flags of all commands that read configurations, for ``parents``; Hydra has the same."""
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
    """A descriptor that discards output that cannot be written, so that the command goes on.

    Causes are a reader that has closed the pipe, a full disk, or a terminal that is gone.
    """

    _reported = False

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
            return super().write(data)
        except OSError as error:
            if self.fileno() == 1 and not self._reported:
                self._reported = True
                with suppress(OSError):  # stderr may be on the same disk or terminal
                    os.write(2, f"Cannot write to stdout: {error.strerror}. Some output is lost.\n".encode())
            return len(data)


def _leave(number: int, frame: object) -> None:
    os.write(2, b"Interrupted.\n")
    os._exit(INTERRUPTED)  # a library that is being imported could catch an exception


def _has_folder() -> bool:
    """Return whether the current directory exists."""
    try:
        return bool(os.getcwd())  # noqa: PTH109
    except FileNotFoundError:
        return False


def resume() -> str:
    """Return how the interrupted command of this process goes on. A forced one would begin again."""
    forced = any(word.lower() in ("force=true", "+force=true", "++force=true") for word in sys.argv)
    return f"Repeat the command{' without force=true' if forced else ''} to resume."


def command(main: Callable[P, int]) -> Callable[P, int]:
    """Decorate a ``main``: print user errors and signals as sentences, and return their exit codes."""

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
            say(f"Interrupted by {number.name}. {resume()}")
            return 128 + number  # as in shells
        except OSError as error:
            if error.filename is None:
                if isinstance(error, FileNotFoundError) and not _has_folder():
                    say("The current directory was deleted. Change to another folder, and repeat the command.")
                    return 2
                raise
            say(f"Cannot use {error.filename}: {error.strerror}.")
        return 2

    return polite
