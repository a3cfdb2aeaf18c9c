"""Does a method keep its promises?  python bench/contract.py NAME [NAME ...]

Each check raises ``BrokenPromise`` with a sentence. They hold for every method of this suite and
are run on every registered one, so a plug-in is tested by being installed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    from bench.terminal.command import begin

    begin()


from bench.base.registry import algorithms, say_broken_plugins
from bench.contracts.methods import CHECKS, BrokenPromise
from bench.terminal.command import command


@command
def main(argv: Sequence[str] | None = None) -> int:
    """Print a line per promise; the exit code tells whether all are kept."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="methods; none: all")
    broken = 0
    names = parser.parse_args(argv).names
    say_broken_plugins()
    for name in names or list(algorithms):
        cls = algorithms[name]
        print(name)
        for check in CHECKS:
            sentence = " ".join((check.__doc__ or check.__name__).split())
            try:
                check(cls)
                word = sentence.partition("``")[2].partition("``")[0]  # where declared ``word``: …
                said = not word or getattr(cls.declare_for({}), word)
                print(f"  {'kept' if said else '–':8}{sentence}")
            except Exception as error:  # a stranger's method may raise anything
                broken += 1
                reason = error if isinstance(error, BrokenPromise) else f"{type(error).__name__}: {error}"
                print(f"  BROKEN  {sentence}\n          {reason}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
