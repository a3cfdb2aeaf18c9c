"""Does a method, or a compressor, keep its promises?  python bench/contract.py NAME [NAME ...]

python bench/contract.py dnasa algo.normalize=tensor algo.schedule=fixed       with other options than its defaults
python bench/contract.py top_k compressor.k=3

With --literal my_rule.py:my_rule also: is it the rule that its author wrote down in NumPy? CONTRIBUTING.md shows how.

Each check raises ``BrokenPromise`` with a sentence. They hold for everything of this suite and
are run on all that is registered, so a plug-in is tested by being installed.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    from bench.terminal.command import begin

    begin()


from bench.base.errors import UserError
from bench.base.registry import algorithms, compressors, no_such, say_broken_plugins
from bench.config.choices import REGISTRIES
from bench.config.run_config import choice
from bench.config.words import options_typed
from bench.contracts import compressors as of_compressors
from bench.contracts import methods as of_methods
from bench.contracts.literal import literal, load
from bench.contracts.methods import BrokenPromise
from bench.contracts.worlds import with_options
from bench.terminal.command import command

KEPT, BROKEN = "kept", "BROKEN"
KINDS = {"algo": ("method", "dsgd"), "compressor": ("compressor", "top_k")}
"""What has promises, by its group: its name in a sentence, and an example."""
Checks = Sequence[Callable[[Any], str | None]]


@command
def main(argv: Sequence[str] | None = None) -> int:
    """Print a line per promise; the exit code tells whether all are kept."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "words", nargs="*", metavar="NAME", help="methods and compressors, and their options; none: all"
    )
    parser.add_argument("--literal", metavar="FILE:FUNCTION", help="the rule of the one method that is named, in NumPy")
    given = parser.parse_intermixed_args(argv)
    names, settings = ([word for word in given.words if ("=" in word) == is_set] for is_set in (False, True))
    say_broken_plugins()
    for name in names:
        if name not in algorithms and name not in compressors:
            raise UserError(no_such("algorithm or compressor", name, {*algorithms, *compressors}))
    methods: Checks = of_methods.CHECKS
    if given.literal:
        if len(names) != 1 or names[0] not in algorithms:
            raise UserError("--literal compares one method with one rule: name the method, and only it.")
        methods = (*methods, literal(load(given.literal), given.literal))
    todo = [*_chosen("algo", names, settings, methods), *_chosen("compressor", names, settings, of_compressors.CHECKS)]
    broken = 0
    for name, cls, checks in todo:
        found = [_tried(cls, check) for check in checks]
        broken += sum(word == BROKEN for word, _, _ in found)
        if names:
            print(name)
        else:  # of all, a line each
            kept = sum(word == KEPT for word, _, _ in found)
            wrong = sum(word == BROKEN for word, _, _ in found)
            print(f"{name:18} {kept} of {len(found)} kept, {len(found) - kept - wrong} not asked, {wrong} broken")
        for word, sentence, reason in found:
            if names or word == BROKEN:
                print(_wrapped(f"  {word:8}", sentence))
            if reason:
                print(_wrapped(" " * 10, reason))
    return 1 if broken else 0


def _chosen(
    group: str, names: Sequence[str], settings: Sequence[str], checks: Checks
) -> Iterator[tuple[str, Any, Checks]]:
    """Those of the names that are of this group, or all of it, with the options that were typed, and their checks."""
    given = {key: value for key, value in options_typed(settings, KINDS).items() if key.startswith(f"{group}.")}
    words = [word for word in settings if word.startswith(f"{group}.")]
    here = [name for name in names or REGISTRIES[group] if name in REGISTRIES[group]]
    if given and not (names and here):
        kind, example = KINDS[group]
        raise UserError(f"{words[0]} needs a {kind}: name it, as in python bench/contract.py {example} {words[0]}.")
    for name in here:
        cls = REGISTRIES[group][name]
        if given:
            options = {key.partition(".")[2]: value for key, value in given.items()}
            known = choice(group, {"name": name, **options}).options
            cls = with_options(cls, {option: known[option] for option in options})
        yield " ".join([name, *words]), cls, checks


def _tried(cls: Any, check: Callable[[Any], str | None]) -> tuple[str, str, str]:
    """Whether it keeps this promise, what it says, and the reason where not."""
    sentence = " ".join((check.__doc__ or check.__name__).split())
    try:
        return check(cls) or KEPT, sentence, ""
    except Exception as error:  # what a stranger wrote may raise anything
        return BROKEN, sentence, str(error) if isinstance(error, BrokenPromise) else f"{type(error).__name__}: {error}"


def _wrapped(begin: str, text: str) -> str:
    """In a terminal, broken between words."""
    if not sys.stdout.isatty():
        return begin + text
    width = max(40, shutil.get_terminal_size().columns)
    return textwrap.fill(text, width, initial_indent=begin, subsequent_indent=" " * len(begin), break_on_hyphens=False)


if __name__ == "__main__":
    sys.exit(main())
