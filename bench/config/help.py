"""The help of bench/run.py: its flags, its settings, and the groups with their members. It imports no torch."""

from __future__ import annotations

import argparse
import ast
import importlib.util
import sys
from contextlib import suppress
from pathlib import Path

from bench.base.registry import modules_named, plugins, say_broken_plugins
from bench.config import flags
from bench.config.choices import members
from bench.config.names import CONF, files_of
from bench.config.reference import described
from bench.config.run_config import GROUPS
from bench.config.source import Source, plugin_folders, source_of
from bench.terminal.command import command, config_flags

OPTIONS = """Set the options of a member as GROUP.OPTION=VALUE. To list them:
  python bench/methods.py dsgt                                 of a method
  python bench/run.py topology=random --cfg job -p topology    of any member
"""
HYDRA = "Hydra reads the settings: python bench/run.py --hydra-help prints its own help."


@command
def show_help(about: str | None) -> int:
    """Print the help, which begins with ``about``. Typed folders add experiments and members."""
    given = flags.read(sys.argv[1:])
    source, _ = source_of(given.values).divide(given.words)
    if plugins_with_code():
        say_broken_plugins()
    print(page(about, source), end="")
    return 0


def page(about: str | None, source: Source) -> str:
    """Return the help, with the settings and comments of conf/config.yaml."""
    parser = argparse.ArgumentParser(
        usage="python bench/run.py [options] [SETTING=VALUE ...] [GROUP=MEMBER ...]",
        description=about,
        epilog=HYDRA,
        formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(prog, max_help_position=26),
        parents=[config_flags()],
    )
    add_flags(parser)
    settings = parser.add_argument_group("settings, with their defaults")
    groups = parser.add_argument_group("groups, with their defaults and members", OPTIONS)
    for name, (value, comment) in described(CONF / "config.yaml").items():
        text = comment.replace("%", "%%")
        if name in (*GROUPS, "experiment"):
            typed, members_of = "NAME" if value == "null" else value, ", ".join(names(name, source))
            groups.add_argument(name, metavar=f"{name}={typed}", help=f"{text}. Members: {members_of}")
        elif name != "defaults":
            settings.add_argument(name, metavar=f"{name}={value}", help=text)
    return parser.format_help()


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of Hydra that hearsay supports; Hydra's own parser reads them."""
    add = parser.add_argument
    add("--version", action="store_true", help="print the version of hearsay and exit")
    add(
        "-m",
        "--multirun",
        action="store_true",
        help="run all combinations of the values in lists (default: lists are rejected)",
    )
    add(
        "-c",
        "--cfg",
        choices=("job", "hydra", "all"),
        help="print the configuration of the run, of Hydra, or both, instead of running it",
    )
    add("--resolve", action="store_true", help="with --cfg: replace references such as ${nodes} by their values")
    add("-p", "--package", metavar="NAME", help="with --cfg: print this part only, such as algo (default: everything)")
    add(
        "-i",
        "--info",
        nargs="?",
        choices=flags.PARTS,
        metavar="PART",
        help=f"print how Hydra composes the configuration: {', '.join(flags.PARTS)} (default: all)",
    )
    add("--hydra-help", action="store_true", help="print the help of Hydra and exit")


def names(group: str, source: Source) -> list[str]:
    """Return the members of a group, or the experiments, without imports: each built-in member has a yaml file."""
    if group == "experiment":
        return files_of(group, source.folders())
    found = files_of(group, [folder for folder in source.folders() if folder not in plugin_folders()])
    return sorted({*found, *(members(group) if plugins_with_code() else [])})


def plugins_with_code() -> bool:
    """Return whether a plug-in may register members; one with only a docstring has only configurations."""
    for plugin in plugins():
        with suppress(ImportError, ValueError):
            spec = importlib.util.find_spec(plugin.module)
            if spec and spec.origin and len(ast.parse(Path(spec.origin).read_bytes()).body) <= 1:
                continue
        return True
    return bool(modules_named()[1])
