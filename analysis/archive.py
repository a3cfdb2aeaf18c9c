"""Pack the results of many runs into an archive of three files.

The analysis commands read an archive like a results folder. Logs and
configurations are not packed. With several sources, the first one that has a
run provides it; the command names runs whose results differ between sources.

Examples:
  python analysis/archive.py results archive
  python analysis/archive.py results other_results archive
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    from bench.terminal.command import begin

    begin()


from analysis.results.archive import write_archive
from analysis.results.duplicates import contradicting
from analysis.results.errors import in_sentences


@in_sentences("Nothing to pack")
def main(argv: Sequence[str] | None = None) -> int:
    from analysis.results.read import read
    from analysis.results.results import together

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sources = "results folders, archives, or wandb:ENTITY/PROJECT"
    parser.add_argument("results", nargs="+", metavar="SOURCE", help=sources)
    parser.add_argument("archive", type=Path, metavar="ARCHIVE", help="folder to write the archive to")
    arguments = parser.parse_args(argv)
    parts = [read(one) for one in arguments.results]
    results = together(parts)
    if differ := contradicting(parts):
        print(
            f"Runs with other results in a later source: {', '.join(differ[:20])}{' …' * (len(differ) > 20)} "
            f"({len(differ)} in all). Using the results of the first source.",
            file=sys.stderr,
        )
    write_archive(results, arguments.archive)
    size = sum(path.stat().st_size for path in arguments.archive.iterdir() if path.is_file())
    print(f"{len(results.runs)} runs, {size / 1e6:.1f} MB: {arguments.archive}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
