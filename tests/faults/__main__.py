"""Run all fault-injection tests and write their table: python -m tests.faults --out docs/reliability.md

The table replaces the text between two marks of the page.
"""

import argparse
import re
from concurrent.futures import ProcessPoolExecutor
from itertools import groupby
from multiprocessing import get_context
from pathlib import Path

from tests.faults.table import discover, line

BEGIN, END = "<!-- faults begin -->", "<!-- faults end -->"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="page whose table is replaced; default: print only")
    parser.add_argument("--only", nargs="+", help="names of the faults to run")
    parser.add_argument("--jobs", type=int, default=2, help="number of parallel processes")
    arguments = parser.parse_args()
    chosen = {name: fault for name, fault in discover().items() if not arguments.only or name in arguments.only}
    names = sorted(chosen, key=lambda name: chosen[name].theme)
    with ProcessPoolExecutor(arguments.jobs, get_context("spawn")) as pool:
        made = dict(zip(names, pool.map(line, names, chunksize=1), strict=True))
    if arguments.out:
        write(arguments.out, {name: line for name, (line, _) in made.items() if line})
    return 0 if all(good for _, good in made.values()) else 1


def write(page: Path, made: dict[str, str]) -> None:
    """Write the table with these lines; a fault that was not run keeps its old line."""
    faults = discover()
    before, old, after = re.split(f"{BEGIN}|{END}", page.read_text())
    kept = {name: line for name in faults for line in old.splitlines() if line.startswith(f"| {faults[name].title} |")}
    lines = []
    names = sorted((name for name in faults if name in {**kept, **made}), key=lambda name: faults[name].theme)
    for theme, members in groupby(names, key=lambda name: faults[name].theme):
        lines += [f"\n### {theme}\n", "| fault | trials | outcome |", "|---|---|---|"]
        lines += [made.get(name) or kept[name] for name in members]
    page.write_text(before + BEGIN + "\n" + "\n".join(lines) + "\n\n" + END + after)


if __name__ == "__main__":
    raise SystemExit(main())
