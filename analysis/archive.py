"""Results as three small files instead of thousands: for a repository, an appendix, a colleague.

python analysis/archive.py results archive
python analysis/archive.py results piece other archive     several, of which the first has a run's word

Everything that analysis reads from a results folder it reads from an archive too; logs and configs stay behind.
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


from analysis.results.archive import write_archive
from analysis.results.errors import in_sentences


@in_sentences("Nothing to keep")
def main(argv: Sequence[str] | None = None) -> int:
    from analysis.results.read import read
    from analysis.results.results import together

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="+", help="results folders, archives, or wandb:ENTITY/PROJECT")
    parser.add_argument("archive", type=Path, help="the folder to write")
    arguments = parser.parse_args(argv)
    results = together([read(one) for one in arguments.results])
    write_archive(results, arguments.archive)
    size = sum(path.stat().st_size for path in arguments.archive.iterdir() if path.is_file())
    print(f"{len(results.runs)} runs, {size / 1e6:.1f} MB: {arguments.archive}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
