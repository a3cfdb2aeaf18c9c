"""Does a method, or a compressor, keep its promises?  python bench/contract.py NAME [NAME ...]

Each check raises ``BrokenPromise`` with a sentence. They hold for everything of this suite and
are run on all that is registered, so a plug-in is tested by being installed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    from bench.terminal.command import begin

    begin()


from bench.base.errors import UserError, closest
from bench.base.registry import algorithms, compressors, say_broken_plugins
from bench.contracts import compressors as of_compressors
from bench.contracts import methods as of_methods
from bench.contracts.methods import BrokenPromise
from bench.terminal.command import command


@command
def main(argv: Sequence[str] | None = None) -> int:
    """Print a line per promise; the exit code tells whether all are kept."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="methods and compressors; none: all")
    names = parser.parse_args(argv).names
    say_broken_plugins()
    for name in names:
        if name not in algorithms and name not in compressors:
            known = closest(name, {*algorithms, *compressors})
            raise UserError(f"There is no algorithm or compressor called '{name}'.{known}")
    broken = 0
    for registry, checks in ((algorithms, of_methods.CHECKS), (compressors, of_compressors.CHECKS)):
        for name in (name for name in names or registry if name in registry):
            print(name)
            broken += sum(not _keeps(registry[name], check) for check in checks)
    return 1 if broken else 0


def _keeps(cls: Any, check: Callable[[Any], None]) -> bool:
    """Whether it keeps this promise; printed, with the reason where not."""
    sentence = " ".join((check.__doc__ or check.__name__).split())
    try:
        check(cls)
        word = sentence.partition("``")[2].partition("``")[0]  # where declared ``word``: …
        said = not word or bool(getattr(cls.declare_for({}), word)) != sentence.startswith("unless")
        print(f"  {'kept' if said else '–':8}{sentence}")
    except Exception as error:  # what a stranger wrote may raise anything
        reason = error if isinstance(error, BrokenPromise) else f"{type(error).__name__}: {error}"
        print(f"  BROKEN  {sentence}\n          {reason}")
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
