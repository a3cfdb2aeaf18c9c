"""Do every harm as often as the table says, and write the table: python -m tests.faults --out docs/reliability.md

The table replaces what stands between two marks of the page.
"""

import argparse
import tempfile
import time
from itertools import groupby
from pathlib import Path

from tests.faults.table import Fault, discover

BEGIN, END = "<!-- faults begin -->", "<!-- faults end -->"


def line(fault: Fault) -> tuple[str, bool]:
    """A line of the table, and whether only what is allowed was seen."""
    with tempfile.TemporaryDirectory() as folder:
        seen = fault.run(fault.full, Path(folder))
    good = set(seen) <= set(fault.allowed) and seen.total() == fault.full
    outcomes = "; ".join(f"{count} {outcome}" for outcome, count in seen.most_common())
    return f"| {fault.title} | {fault.full} | {outcomes}{'' if good else ' **not allowed**'} |", good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="the page whose table is replaced; printed where none is given")
    parser.add_argument("--only", nargs="+", help="names of faults")
    arguments = parser.parse_args()
    chosen = {name: fault for name, fault in discover().items() if not arguments.only or name in arguments.only}
    lines, all_good = [], True
    ordered = sorted(chosen.values(), key=lambda fault: fault.theme)
    for theme, members in groupby(ordered, key=lambda fault: fault.theme):
        lines += [f"\n### {theme}\n", "| what is done | times | what was seen |", "|---|---|---|"]
        for fault in members:
            began = time.monotonic()
            text, good = line(fault)
            print(f"{text}  ({time.monotonic() - began:.0f} s)", flush=True)
            lines.append(text)
            all_good &= good
    if arguments.out:
        page = arguments.out.read_text()
        before, after = page.split(BEGIN)[0], page.split(END)[1]
        arguments.out.write_text(before + BEGIN + "\n" + "\n".join(lines) + "\n\n" + END + after)
    return 0 if all_good else 1


if __name__ == "__main__":
    raise SystemExit(main())
