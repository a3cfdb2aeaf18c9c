"""Show the runs of a results folder, with their states and final metrics.

With settings, shows the runs of that sweep or experiment, missing ones too.

Examples:
  python bench/status.py results
  python bench/status.py results experiment=example
  python bench/status.py results algo=dnasa,dsgt seed=0,1,2
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    from bench.terminal.command import begin

    begin()

from bench.base.errors import UserError
from bench.store.regular import run_names
from bench.sweep.cluster.tickets import queue_lines, tickets
from bench.sweep.states import look_at_run, show_found, states_of
from bench.terminal.command import command
from bench.terminal.console import Console
from bench.terminal.display import counting
from bench.terminal.parser import command_parser
from bench.terminal.table import in_order

if TYPE_CHECKING:
    from bench.config.run_config import RunConfig


def wanted(arguments: argparse.Namespace) -> list[RunConfig]:
    """Return the runs of an experiment or a sweep."""
    from bench.base.registry import say_broken_plugins
    from bench.config.distinct import unique
    from bench.config.plan import of_command  # slow: imports Hydra and torch
    from bench.config.source import source_of

    say_broken_plugins()
    errors = Console(stderr=True, soft_wrap=True)
    with counting(errors, "composing {} of {} configurations") as say:
        return unique(of_command(arguments.words, say=say, source=source_of(arguments)))


@command
def main() -> int:
    parser = command_parser(__doc__, config=True)
    parser.add_argument(
        "words",
        nargs="*",
        metavar="RESULTS or SETTING=VALUE",
        help="results folder (default: results), then the settings of a sweep or an experiment, as for run.py "
        "(default: all runs of the folder)",
    )
    parser.add_argument(
        "-m", "--multirun", action="store_true", help="no effect: lists of values are always a sweep here"
    )
    arguments = parser.parse_intermixed_args()
    words = arguments.words
    results = Path(words.pop(0)) if words and ("=" not in words[0] or Path(words[0]).is_dir()) else Path("results")
    console = Console(width=None if sys.stdout.isatty() else 140)
    runs = results / "runs"
    chosen = bool(words or arguments.multirun or arguments.config_name)
    if chosen:
        found = states_of(runs, wanted(arguments))
    else:
        if not runs.exists() and not tickets(results):
            raise UserError(f"There are no runs in '{results}'.")
        names = run_names(results) if runs.exists() else []  # queued runs may not have started
        found = {name: look_at_run(runs / name) for name in names}
    show_found(console, runs, found, list(found.values()) if chosen else in_order(found.values()))
    for line in queue_lines(results, found, only=chosen):
        console.print(line, soft_wrap=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
