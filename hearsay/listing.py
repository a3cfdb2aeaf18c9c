"""List what has a name, or describe it in full.

KIND is methods, topologies, datasets or another word of the first list. NAME is
a name of any kind; KIND before it chooses between equal names.

Examples:
  hearsay list
  hearsay list topologies
  hearsay info dnasa
  hearsay info topology ring
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from bench import methods
from bench.base.errors import UserError, closest, closest_or_own
from bench.base.registry import say_broken_plugins
from bench.build.network import mixing_of
from bench.clock import load_network
from bench.config.choices import REGISTRIES, options_of
from bench.config.compose import compose_one
from bench.config.names import CONF, files_of
from bench.config.reference import described
from bench.config.source import USUAL
from bench.network.describe import facts
from bench.terminal.command import command
from bench.terminal.console import Console
from bench.terminal.parser import command_parser

WORDS = {"algo": "methods", "topology": "topologies", "loss": "losses", "links": "links"}
"""The kinds whose name in a list is not that of the setting with an s."""


class Kind(NamedTuple):
    """Things of one kind, chosen by the setting ``group``."""

    group: str
    word: str
    names: Callable[[], list[str]]


def kinds() -> dict[str, Kind]:
    """Return all kinds by the word for a list."""
    found = [
        Kind(group, WORDS.get(group, f"{group}s"), partial(list, registry)) for group, registry in REGISTRIES.items()
    ]
    found.append(Kind("experiment", "experiments", lambda: files_of("experiment", USUAL.folders())))
    return {kind.word: kind for kind in found}


def kind_of(word: str) -> Kind:
    """Return the kind that a user names, in the singular or the plural."""
    known = kinds()
    by_group = {kind.group: kind for kind in known.values()}
    if word not in known and word not in by_group:
        raise UserError(f"There is no kind '{word}'.{closest(word, known)}")
    return known.get(word) or by_group[word]


def summary(kind: Kind, name: str) -> str:
    """Return the first line of the documentation of a name."""
    return (text(kind, name).splitlines() or [""])[0]


def text(kind: Kind, name: str) -> str:
    """Return the documentation of a name, from its docstring or its file."""
    if kind.group == "experiment":
        file = next(place / "experiment" / f"{name}.yaml" for place in USUAL.folders() if _has(place, name))
        return "\n".join(_opening(file))
    if kind.group == "network" and name not in ("none", "file"):
        network = load_network(name)
        return f"{network.title}. Source: {network.source}."
    item = REGISTRIES[kind.group][name]
    item = getattr(item, "graph", item)
    return inspect.cleandoc(vars(item).get("__doc__") or "") if inspect.isclass(item) else inspect.getdoc(item) or ""


def _has(place: Path, name: str) -> bool:
    return (place / "experiment" / f"{name}.yaml").is_file()


def _opening(file: Path) -> Iterator[str]:
    """Yield the comment at the top of a yaml file."""
    for line in file.read_text("utf-8").splitlines():
        if not line.startswith("#"):
            return
        yield line.removeprefix("#").strip()


def page(kind: Kind, name: str) -> Iterator[str]:
    """Yield the lines that describe one name."""
    if kind.group == "algo":
        yield from methods.page(name)
        return
    yield f"{kind.group}={name}"
    yield ""
    yield from (f"  {line}".rstrip() for line in text(kind, name).splitlines())
    if kind.group == "experiment":
        yield from ["", "example:", f"  hearsay run experiment={name}"]
        return
    file = CONF / kind.group / f"{name}.yaml"
    comments = {key: each.comment for key, each in described(file).items()} if file.is_file() else {}
    if options := options_of(kind.group, name):
        yield from ["", "options, with their defaults:"]
        for option, value in options.items():
            default: Any = "null" if value.default is None else value.default
            typed = str(default).lower() if isinstance(default, bool) else default
            yield from methods.wrapped(f"{kind.group}.{option}={typed}", comments.get(option, ""), 34)
    if kind.group == "topology" and not any(str(value.default) == "None" for value in options.values()):
        config = compose_one([f"topology={name}"])
        yield from ["", f"with {config.nodes} nodes:"]
        yield from (f"  {line}" for line in facts(mixing_of(config)))
    yield from ["", "example:", f"  hearsay run {kind.group}={name}"]


def show_list(words: Sequence[str]) -> None:
    """Print the names of all kinds, or those of one kind with a line about each."""
    if not words:
        for word, kind in kinds().items():
            print("\n".join(methods.wrapped(word, ", ".join(kind.names()))))
        return
    kind = kind_of(words[0])
    if kind.group == "algo":
        methods.show_all(Console())
        return
    for name in kind.names():
        print("\n".join(methods.wrapped(name, summary(kind, name), 22)))


def show_one(words: Sequence[str]) -> None:
    """Print the description of a name; of all kinds that have it, if no kind is named."""
    name = words[-1]
    chosen = [kind_of(words[0])] if len(words) == 2 else list(kinds().values())
    found = [kind for kind in chosen if name in kind.names()]
    if not found:
        known = [each for kind in chosen for each in kind.names()]
        where = chosen[0].word if len(chosen) == 1 else "hearsay list"
        raise UserError(f"'{name}' is not in {where}.{closest_or_own(name, set(known))}")
    for place, kind in enumerate(found):
        print("\n" * bool(place) + "\n".join(page(kind, name)))


@command
def main(argv: Sequence[str] | None = None) -> int:
    parser = command_parser(__doc__)
    listing = sys.argv[0].endswith("list")
    about = "kind to list (default: all names)" if listing else "name to describe, after its kind if needed"
    parser.add_argument("words", nargs="*" if listing else "+", metavar="KIND" if listing else "NAME", help=about)
    given = parser.parse_args(argv)
    if len(given.words) > (1 if listing else 2):
        parser.error(f"too many words: {' '.join(given.words)}")
    say_broken_plugins()
    (show_list if listing else show_one)(given.words)
    return 0
