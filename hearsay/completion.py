"""Print a completion script for a shell: bash, zsh or fish.

The script knows the names of methods, graphs, datasets and so on when it is
printed. Print it again after you install a plug-in.

Examples:
  hearsay completion bash > ~/.local/share/bash-completion/completions/hearsay
  hearsay completion zsh > ~/.zfunc/_hearsay
  hearsay completion fish > ~/.config/fish/completions/hearsay.fish
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout, suppress
from importlib import import_module
from pathlib import Path

from analysis.figures import drawings
from analysis.tables import table_makers
from bench.config.help import names
from bench.config.names import CONF
from bench.config.reference import described
from bench.config.run_config import GROUPS
from bench.config.source import USUAL
from bench.terminal.command import command
from bench.terminal.parser import command_parser
from hearsay.commands import COMMANDS, about
from hearsay.listing import kinds

SHELLS = ("bash", "zsh", "fish")
SETTINGS = ("run", "status", "submit")
"""Subcommands that take settings."""
KINDS = ("experiment", *GROUPS)
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def values() -> dict[str, list[str]]:
    """Return the words that complete each key: the members of groups, and figures after ``--figure``."""
    return {group: names(group, USUAL) for group in KINDS} | {"--figure": [*drawings(), *table_makers()]}


def words_of(commands: Sequence[str], found: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return the words that each subcommand takes besides flags."""
    keys = [f"{key}=" for key in described(CONF / "config.yaml") if key != "defaults"]
    named = {
        "list": list(kinds()),
        "info": sorted({name for group in KINDS for name in found[group]}),
        "fetch": found["dataset"],
        "contract": found["algo"],
        "completion": list(SHELLS),
    }
    return {name: keys if name in SETTINGS else named.get(name, []) for name in commands}


def flags_of(module: str) -> list[str]:
    """Return the flags in the help of a script; none if this version lacks it."""
    text = io.StringIO()
    with suppress(SystemExit, ModuleNotFoundError), redirect_stdout(text):
        before, sys.argv = sys.argv, [module, "--help"]
        try:
            if module == "bench.run":
                import_module("bench.config.help").show_help(None)
            else:
                import_module(module).main()
        finally:
            sys.argv = before
    return sorted({*FLAG.findall(text.getvalue()), "--help"})


def script(shell: str) -> str:
    """Return the completion script."""
    commands, found = list(COMMANDS), values()
    words = words_of(commands, found)
    flags = {name: flags_of(COMMANDS[name].modules[0]) for name in commands}
    parts = {
        "commands": " ".join(commands),
        "described": "\n".join(map(_described, commands)),
        "settings": ("|" if shell != "fish" else " ").join(SETTINGS),
        "values": _cases(shell, found),
        "words": _cases(shell, words),
        "flags": _cases(shell, flags),
    }
    template = Path(__file__).with_name("shells").joinpath(f"hearsay.{shell}").read_text("utf-8")
    return re.sub(r"@(\w+)@", lambda name: parts[name[1]], template)


def _described(name: str) -> str:
    text = about(name).replace("'", "")
    return f"complete -c hearsay -f -n __fish_use_subcommand -a {name} -d '{text}'"


def _cases(shell: str, lists: dict[str, list[str]]) -> str:
    """Return the branches of a ``case``, which print one word per line."""
    if shell == "fish":
        lines = [
            f"        case '{key}'\n            printf '%s\\n' {' '.join(some)}" for key, some in lists.items() if some
        ]
    else:
        lines = [f"        {key}) printf '%s\\n' {' '.join(some)} ;;" for key, some in lists.items() if some]
    return "\n".join(lines)


@command
def main(argv: Sequence[str] | None = None) -> int:
    parser = command_parser(__doc__)
    parser.add_argument("shell", choices=SHELLS, help="shell that reads the script")
    given = parser.parse_args(argv)
    print(script(given.shell))
    return 0
