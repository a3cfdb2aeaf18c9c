"""The command ``hearsay``: every script of bench and analysis as a subcommand.

A subcommand calls the ``main`` of its script, so that output and exit codes are equal.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from importlib import import_module

from bench.base.errors import UserError, closest
from bench.base.home import ROOT
from bench.terminal.command import begin, command
from bench.terminal.starting import say_starting
from hearsay.commands import COMMANDS, about, docstring

EXAMPLES = """Examples:
  hearsay run -m algo=dnasa,dsgt topology=ring,complete
  hearsay figures --figure compare
  hearsay info dnasa
  hearsay COMMAND --help
"""
HELP = {"-h", "--help"}


def main(argv: Sequence[str] | None = None) -> int:
    """Call the subcommand that the first word names; return its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    sys.path[0] = str(ROOT)  # as in the scripts: before installed packages named datasets or analysis
    begin()
    return dispatch(words)


@command
def dispatch(words: list[str]) -> int:
    if not words or words[0] in HELP:
        print(overview())
        return 0
    if words[0] == "--version":
        words = ["run", "--version"]
    name, *rest = words
    if name not in COMMANDS:
        raise UserError(f"There is no command 'hearsay {name}'.{closest(name, COMMANDS)}")
    module = module_of(name, rest)
    sys.argv = [f"hearsay {name}", *rest]
    if HELP.isdisjoint(rest):
        if name == "run":
            say_starting(rest)
        return int(import_module(module).main())
    return show_help(module)


def module_of(name: str, rest: Sequence[str]) -> str:
    """Return the module of a subcommand; the first word of ``board`` decides between two."""
    modules = COMMANDS[name].modules
    others = [module for module in modules[1:] if rest and rest[0] in import_module(module).PARTS]
    return others[0] if others and rest[0] not in import_module(modules[0]).PARTS else modules[0]


def show_help(module: str) -> int:
    """Print the help of a script, with the subcommands in place of the scripts."""
    text, code = io.StringIO(), 0
    with redirect_stdout(text):
        try:
            if module == "bench.run":
                from bench.config.help import show_help as page  # imports no torch

                code = page(docstring(module))
            else:
                code = int(import_module(module).main())
        except SystemExit as end:
            code = int(end.code or 0)
    print(as_subcommands(text.getvalue()), end="")
    return code


def as_subcommands(text: str) -> str:
    """Return a help text with ``hearsay run`` for ``python bench/run.py``, and so on."""
    scripts = {"bench/methods.py": "info"}
    scripts |= {f"{m.replace('.', '/')}.py": name for name, script in COMMANDS.items() for m in script.modules}
    return re.sub(
        r"python (\w+/\w+\.py)", lambda found: f"hearsay {scripts[found[1]]}" if found[1] in scripts else found[0], text
    )


def overview() -> str:
    """Return the help of ``hearsay``."""
    lines = ["usage: hearsay COMMAND [...]", "", "A benchmark suite for decentralized optimization.", "", "commands:"]
    lines += [f"  {name:11} {about(name)}" for name in COMMANDS]
    return "\n".join([*lines, "", EXAMPLES]).rstrip()
