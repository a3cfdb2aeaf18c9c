"""Download datasets, or list them.

Without names, lists the datasets and whether they are in the data folder. A
run downloads its dataset itself. Use this command for machines that will be
offline, and for a data folder that several users share.

Examples:
  python bench/fetch.py
  python bench/fetch.py a9a mnist --data-dir /data/hearsay
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    from bench.terminal.command import begin

    begin()

from bench.base.errors import UserError
from bench.base.registry import recipes, say_broken_plugins
from bench.data.recipe import data_folder, load, prepare
from bench.terminal.command import command
from bench.terminal.console import Console
from bench.terminal.parser import command_parser


@command
def main() -> int:
    parser = command_parser(__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="datasets to download (default: list all)")
    parser.add_argument(
        "--data-dir",
        metavar="FOLDER",
        help="data folder (default: $HEARSAY_DATA, or hearsay in the user's cache folder)",
    )
    arguments = parser.parse_args()
    folder = data_folder(arguments.data_dir)
    console = Console(soft_wrap=True)
    failed = False
    say_broken_plugins()
    if not arguments.names:
        console.print(f"data folder: {folder}")
    for name in arguments.names or recipes:
        try:
            parts = prepare(name, folder, console) if arguments.names else load(name, folder)
            rows = f"{len(parts['train_y'])} training and {len(parts['test_y'])} test samples"
            console.print(f"{name}: {rows}, checked")
        except UserError as error:
            failed = bool(arguments.names)
            console.print(str(error))
    return 2 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
