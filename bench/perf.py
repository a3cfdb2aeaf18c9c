"""Measure the speed of the suite on this machine.

The times depend on the machine. Ratios compare them with a floor that is
measured in the same run: the batched matrix products of one iteration of all
nodes on one core, without update, mixing, sampling or activation.

Examples:
  python bench/perf.py --quick
  python bench/perf.py --only methods --out methods.json
"""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    from bench.terminal.command import begin

    begin()

import torch
from rich.table import Table

from bench.base.machine import cores
from bench.build.torch_setup import set_up_torch
from bench.terminal.command import command
from bench.terminal.console import Console
from bench.terminal.parser import command_parser
from benchmarks.around import data, digests, overheads, reporting, storing
from benchmarks.busy import busy
from benchmarks.clock import Entry
from benchmarks.engines import REPLICAS, all_batched, engines, networks
from benchmarks.events import played, tapes
from benchmarks.methods import methods
from benchmarks.models import modules, residual, texts
from benchmarks.networks import gossip, many, scaling
from benchmarks.start import archived, starting

TOLERATED = 1.1
"""Growth of a ratio that --compare does not report."""


def table(title: str, entries: list[Entry]) -> Table:
    units = [
        unit
        for unit in ("ms", "us", "s", "mb", "ratio", "beyond_ms", "per_s")
        if any(unit in entry for entry in entries)
    ]
    out = Table(title, *units)
    for entry in entries:
        out.add_row(entry["what"], *(f"{entry[unit]:.3g}" if unit in entry else "" for unit in units))
    return out


def slower(before: dict[str, Any], now: dict[str, list[Entry]]) -> list[str]:
    """Return a line for each entry whose ratio to the floor of its own measurement grew by more than a tenth.

    Times of two measurements are not compared, because the machine may be another or busy.
    """
    lines = []
    for title, entries in now.items():
        old = {entry["what"]: entry.get("ratio") for entry in before.get(title, [])}
        for entry in entries:
            was, ratio = old.get(entry["what"]), entry.get("ratio")
            if was and ratio and ratio > TOLERATED * was:
                lines.append(f"{title}: {entry['what']}: {ratio / was:.2f} times as slow ({was:.3g} to {ratio:.3g})")
    return lines


@command
def main() -> int:
    parser = command_parser(__doc__)
    parser.add_argument("--quick", action="store_true", help="measure fewer steps and sizes (default: all)")
    parser.add_argument(
        "--only",
        default="",
        metavar="WORD",
        help="measure only the tables with this word in their title (default: all)",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        default=Path("perf.json"),
        help="JSON file for the numbers (default: perf.json)",
    )
    parser.add_argument(
        "--compare",
        type=Path,
        metavar="FILE",
        help="JSON file of an earlier measurement; list what became slower by more than 10 %% (default: none)",
    )
    arguments = parser.parse_args()
    before = json.loads(arguments.compare.read_text(encoding="utf-8")) if arguments.compare else None
    quick = arguments.quick
    set_up_torch()
    torch.set_num_threads(1)
    machine = {"machine": platform.machine(), "cores": cores(), "torch": torch.__version__, "system": platform.system()}
    if torch.cuda.is_available():
        machine["gpu"] = torch.cuda.get_device_name()
    sizes, steps = (REPLICAS[:3], 200) if quick else (REPLICAS, 1000)
    sections: dict[str, Callable[[], list[Entry]]] = {
        "D-NASA, 8 nodes, ring: an iteration": lambda: engines(100 if quick else 1000),
        "D-NASA, 8 nodes, R runs at once on a CPU: per run and step": lambda: all_batched("cpu", sizes, steps),
        "D-NASA, 8 nodes, R runs at once on a GPU: per run and step": lambda: all_batched("cuda", sizes, steps),
        "D-NASA, 8 nodes, ring: on a busy machine, relative to a fair share": lambda: busy(100 if quick else 400),
        "LeNet, 8 nodes: gradients": networks,
        "perceptron of a9a's size, 8 nodes, as a module": modules,
        "ResNet-20, 8 nodes, on a CPU: gradients": lambda: residual("cpu"),
        "ResNet-20, 8 nodes, on a GPU: gradients": lambda: residual("cuda"),
        "transformer, 8 nodes, on a CPU: gradients": lambda: texts("cpu"),
        "transformer, 8 nodes, on a GPU: gradients": lambda: texts("cuda"),
        "around a run": lambda: [*overheads(), *data()],
        "the store": lambda: storing(*((1000, 100) if quick else (8000, 1000))),
        "the digests of the store": lambda: digests(50 if quick else 500),
        "methods, 8 nodes, perceptron of a9a's size: a step": lambda: methods(50 if quick else 300),
        "start of a command: seconds of CPU": lambda: starting(2 if quick else 5),
        "archive: seconds of CPU": archived,
        "events of asynchronous methods: seconds of CPU per million": lambda: tapes(100_000 if quick else 1_000_000),
        "asynchronous methods, 16 nodes, perceptron of a9a's size: events per second of CPU": lambda: played(
            40 if quick else 400
        ),
        "figures and report": lambda: reporting(2 if quick else 17),
        "networks that change, and large ones": lambda: gossip(40 if quick else 200),
        "many nodes": lambda: many([512] if quick else [512, 4096]),
        "size of the network": lambda: scaling([8, 32] if quick else [8, 32, 128, 512]),
    }
    console = Console(width=None if sys.stdout.isatty() else 100)
    console.print(" ".join(f"{name} {value}" for name, value in machine.items()))
    results: dict[str, list[Entry]] = {}
    if not any(arguments.only in title for title in sections):
        parser.error(f"no table has {arguments.only!r} in its title; there are: {'; '.join(sections)}")
    for title, measure in sections.items():
        if arguments.only in title and ("GPU" not in title or torch.cuda.is_available()):
            results[title] = measure()
            console.print(table(title, results[title]))
    arguments.out.write_text(json.dumps({"machine": machine, **results}, indent=1) + "\n", encoding="utf-8")
    console.print(f"written to {arguments.out}", soft_wrap=True)
    if before is not None:
        lines = slower(before, results)
        console.print("\n".join(lines) or "Nothing became slower by more than 10 %.", soft_wrap=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
