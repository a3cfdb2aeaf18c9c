"""Compare the speed of hearsay with decent-bench and with a plain PyTorch loop.

All of them compute D-SGD and gradient tracking for the same logistic
regression on a ring, in float64 on one core. The command first checks that
their iterates agree, then measures them in turn. The best round counts.

decent-bench needs Python 3.13 and an environment of its own:
  python3.13 -m venv decent-env
  decent-env/bin/pip install decent-bench

Examples:
  python bench/peers/run.py
  python bench/peers/run.py --python decent-env/bin/python --nodes 32
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[2])
    from bench.terminal.command import begin

    begin()

import numpy as np
import torch
from rich.table import Table

from bench.base.errors import UserError
from bench.base.machine import cores
from bench.build.torch_setup import set_up_torch
from bench.peers.plain_loop import PlainLoop
from bench.peers.problem import CHECKED, EPOCH, ETA, METHODS, Case, Result
from bench.terminal.command import command
from bench.terminal.console import Console
from bench.terminal.parser import command_parser

AGREE = 1e-6
"""The largest difference of iterates that a comparison accepts."""
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
SCRIPT = Path(__file__).with_name("decent_bench_steps.py")
NOTES = """\
All: float64, one thread, reshuffled mini-batches in every epoch, no evaluation.
Plain PyTorch: a loop over torch.nn modules with autograd; one product with W.
decent-bench: NumPy instead of torch, another Python; counts messages and calls;
  the bias is a constant feature; states are recorded at the first and last step."""


class DecentBench:
    """decent-bench in another interpreter, which computes steps on request."""

    def __init__(self, python: Path, process: subprocess.Popen[str], errors: Path) -> None:
        self._python, self._process, self._errors = python, process, errors
        self.versions = self._answer()

    def run(self, method: str, steps: int, check: bool = False) -> Result:
        """Compute steps, on own mini-batches or, to ``check`` the iterates, on those of hearsay."""
        assert self._process.stdin is not None
        print(json.dumps({"method": method, "steps": steps, "eta": ETA, "check": check}), file=self._process.stdin)
        self._process.stdin.flush()
        answer = self._answer()
        return Result(answer["ms"], np.array(answer["x"]))

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        if line := self._process.stdout.readline():
            return dict(json.loads(line))
        self._process.wait()
        reason = (self._errors.read_text(encoding="utf-8").strip().splitlines() or ["no error message"])[-1]
        raise UserError(
            f"{self._python} cannot run decent-bench: {reason}. Give --python an interpreter of an "
            "environment with Python 3.13 in which you ran pip install decent-bench."
        )


@contextmanager
def decent_bench(python: Path, arrays: dict[str, Any]) -> Iterator[DecentBench]:
    with TemporaryDirectory() as folder:
        data, errors = Path(folder, "arrays.npz"), Path(folder, "errors.txt")
        np.savez(data, **arrays)
        with errors.open("w") as stderr:
            process = subprocess.Popen(
                [str(python), "-I", str(SCRIPT), str(data)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                env={**os.environ, **ONE_THREAD},
            )
        with process:
            try:
                yield DecentBench(python, process, errors)
            finally:
                process.kill()


def deviation(case: Case, other: Callable[..., Result]) -> float:
    """Return the largest difference of iterates from hearsay's after ``CHECKED`` steps, over both methods."""
    pairs = [(case.run(method, CHECKED).x, other(method, CHECKED, check=True).x) for method in METHODS]
    return max(float(np.abs(ours - theirs).max()) for ours, theirs in pairs)


def measured(runs: dict[str, Callable[..., Result]], steps: int, rounds: int) -> dict[tuple[str, str], float]:
    """Return the milliseconds per step by implementation and method: the best of several rounds, in turn."""
    best: dict[tuple[str, str], float] = {}
    for _ in range(rounds):
        for method in METHODS:
            for name, run in runs.items():
                best[name, method] = min(run(method, steps).ms, best.get((name, method), float("inf")))
    return best


@command
def main() -> int:
    parser = command_parser(__doc__)
    parser.add_argument(
        "--python",
        type=Path,
        metavar="PATH",
        help="Python 3.13 of an environment with decent-bench (default: none; skip it)",
    )
    for name, default, meaning in (
        ("nodes", 8, "nodes of the ring, at least 3"),
        ("batch-size", 32, "samples per node and step, at least 1"),
        ("steps", 512, f"steps of a measurement, a multiple of {EPOCH}; the second half counts"),
        ("rounds", 5, "measurements of each, at least 1; the best counts"),
    ):
        parser.add_argument(f"--{name}", type=int, default=default, help=f"{meaning} (default: {default})", metavar="N")
    arguments = parser.parse_args()
    for name, least in (("nodes", 3), ("batch_size", 1), ("steps", EPOCH), ("rounds", 1)):
        if (value := getattr(arguments, name)) < least:
            parser.error(f"--{name.replace('_', '-')} must be at least {least}, got {value}")
    if arguments.steps % EPOCH:  # hearsay draws 64 mini-batches at once: half of the steps must hold whole blocks
        parser.error(f"--steps must be a multiple of {EPOCH}, got {arguments.steps}")
    set_up_torch()
    torch.set_num_threads(1)
    case = Case(arguments.nodes, arguments.batch_size)
    console = Console(width=None if sys.stdout.isatty() else 100)
    machine = {"machine": platform.machine(), "cores": cores(), "torch": torch.__version__}
    machine |= {"Python": platform.python_version(), "system": platform.system()}
    console.print(" ".join(f"{name} {value}" for name, value in machine.items()))
    runs: dict[str, Callable[..., Result]] = {"plain PyTorch": PlainLoop(case.arrays).run}
    with ExitStack() as stack:
        if arguments.python:
            peer = stack.enter_context(decent_bench(arguments.python, case.arrays))
            name = f"decent-bench {peer.versions['decent-bench']}"
            console.print(f"{name} on Python {peer.versions['python']}")
            runs[name] = peer.run
        for name, run in runs.items():
            if not (apart := deviation(case, run)) <= AGREE:
                raise UserError(f"{name} and hearsay disagree: their iterates differ by {apart} after {CHECKED} steps.")
            console.print(f"{name}: iterates differ from hearsay's by at most {apart:.1g} after {CHECKED} steps")
        runs = {"hearsay": case.run, **runs}
        best = measured(runs, arguments.steps, arguments.rounds)
    table = Table(f"{case.nodes} nodes, batch size {case.batch_size}", "method", "ms per step", "ratio to hearsay")
    for method, label in METHODS.items():
        for name in runs:
            ms = best[name, method]
            table.add_row(name, label, f"{ms:.3g}", f"{ms / best['hearsay', method]:.3g}")
    console.print(table)
    console.print(NOTES)
    if not arguments.python:
        console.print("Skipped decent-bench: add --python PATH (see --help for the installation).")
    return 0


if __name__ == "__main__":
    sys.exit(main())
