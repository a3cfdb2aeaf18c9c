"""Run one configuration, a sweep or an experiment.

Invalid settings are rejected before any run starts. Runs that are done are not
repeated. Interrupted runs resume from their last checkpoint.

Examples:
  python bench/run.py algo=dsgt algo.eta=0.1 dataset=digits steps=5000 seed=1
  python bench/run.py -m algo=dnasa,dsgt topology=ring,complete seed=0,1,2
  python bench/run.py experiment=example
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path

if __name__ == "__main__":  # this repository comes before installed packages named datasets or analysis
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    from bench.terminal.command import begin
    from bench.terminal.starting import say_starting

    begin()
    if not {"-h", "--help"}.isdisjoint(sys.argv):  # before the slow imports
        from bench.config.help import show_help

        sys.exit(show_help(__doc__))
    say_starting(sys.argv[1:])

from bench import __version__
from bench.base import preemption
from bench.base.registry import broken_plugins, say_broken_plugins
from bench.config import flags
from bench.config.help import show_help
from bench.config.source import source_of
from bench.sweep.gather import gather, sweep_name
from bench.sweep.preflight import checked
from bench.sweep.sweep import run_all
from bench.terminal.command import INTERRUPTED, command, resume
from bench.terminal.console import Console


def run(given: flags.Given, errors: Console) -> int:
    """Execute the runs of a command line and return the exit code."""
    say_broken_plugins()
    source, words = source_of(given.values).divide(given.words)
    if given.shows:
        flags.show(words, given.shows, source)
        return 0
    preemption.listen()
    configs, skipped = gather(words, checked, errors, source, given.several)
    console = Console(width=None if sys.stdout.isatty() else 140)
    code = run_all(configs, console, sweep_name(words, source))
    if skipped:
        count = skipped.total()
        errors.print(f"{count} configuration{'s were' if count > 1 else ' was'} skipped: see the reasons above.")
    for plugin in broken_plugins:
        errors.print(f"Plug-in '{plugin}' was skipped: see the reason above.")
    return code or int(bool(skipped))


@command
def main() -> int:
    if "--version" in sys.argv[1:]:
        print(f"hearsay {__version__}")
        return 0
    given = flags.read(sys.argv[1:])
    if given.values.help:
        return show_help(__doc__)
    errors = Console(stderr=True, soft_wrap=True)
    try:
        return run(given, errors)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        errors.print(f"Interrupted. {resume()}")
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
