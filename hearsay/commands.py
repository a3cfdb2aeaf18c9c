"""The subcommands of ``hearsay``, and the modules behind them."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import NamedTuple

from bench.base.home import ROOT


class Script(NamedTuple):
    """The modules behind a subcommand."""

    modules: tuple[str, ...]
    summary: str = ""  # default: the first line of the module


COMMANDS = {
    "run": Script(("bench.run",)),
    "list": Script(("hearsay.listing",), "List methods, graphs, datasets and everything else with a name."),
    "info": Script(("hearsay.listing",), "Describe one of them in full."),
    "fetch": Script(("bench.fetch",)),
    "status": Script(("bench.status",)),
    "sync": Script(("bench.sync",)),
    "figures": Script(("analysis.make_figures",)),
    "report": Script(("analysis.make_report",)),
    "claims": Script(("analysis.check_claims",)),
    "board": Script(("bench.board", "analysis.make_board"), "Run and make the board, which compares all methods."),
    "submit": Script(("bench.submit",)),
    "contract": Script(("bench.contract",)),
    "completion": Script(("hearsay.completion",), "Print a completion script for bash, zsh or fish."),
}


def about(name: str) -> str:
    """Return the line about a subcommand in the help."""
    script = COMMANDS[name]
    return script.summary or docstring(script.modules[0]).partition("\n")[0]


def docstring(module: str) -> str:
    """Return the docstring of a module without its import, which may take seconds."""
    file = Path(ROOT, *module.split(".")).with_suffix(".py")
    return ast.get_docstring(ast.parse(file.read_bytes())) or "" if file.is_file() else ""
