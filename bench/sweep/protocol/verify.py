"""Verify the runs of a submission: all are there, and a sample of them is computed again to the bit."""

from __future__ import annotations

import reprlib
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bench.base.errors import UserError
from bench.base.home import ROOT
from bench.config.run_config import RunConfig
from bench.store.integrity import examine
from bench.store.kinds import is_name
from bench.store.read_parquet import UNREADABLE, read_table
from bench.store.record import FINAL
from bench.store.regular import TABLE, content_of, write_bytes
from bench.store.stored_run import StoredRun
from bench.sweep.protocol.pieces import Composed, composed, valid
from bench.sweep.protocol.submission import Submission
from bench.sweep.resume import Run, stale
from bench.sweep.sweep import run_sweep
from bench.terminal.console import Console
from bench.terminal.visible import in_line

TIMED = ("compute_s", "comm_s", "eval_s", "wall_s")
"""Columns that differ each time."""
SUBMITTED = 500_000
"""Maximal number of evaluations in a submission."""
MACHINES = b"machines"
"""In the file of the runs: the kinds of machines that computed them."""
Rows = list[dict[str, Any]]


def pack(submission: Submission, words: Sequence[str]) -> int:
    """Write runs.parquet from a results folder, and return the number of runs."""
    runs = [run for one in composed(submission.cells(), words) for run in one.runs]
    tables, machines = [], set()
    for run in {run.run_id: run for run in runs}.values():
        stored = StoredRun(run)
        found = examine(stored.path)
        if stored.state not in FINAL:
            raise UserError(f"{run.run_id} is {stored.state}. Run all phases of the submission first.")
        if wrong := stored.wrong(found):
            damage = "; ".join(f"{name} {what}" for name, what in wrong.items())
            raise UserError(f"{run.run_id} is damaged: {damage}. Run all phases of the submission again.")
        if run.stale != "keep" and (reason := stale(Run(run))):
            raise UserError(
                f"{run.run_id} is done, but with {reason}. Run all phases of the submission with stale=rerun, or add "
                "stale=keep to pack it."
            )
        assert found.metrics is not None
        table = read_table(found.metrics)
        table = table.drop_columns([name for name in TIMED if name in table.column_names])
        tables.append(table.add_column(0, "run_id", pa.array([run.run_id] * len(table))))
        machines.add(kind_of_machine(stored.manifest()))
    whole = pa.concat_tables(tables, promote_options="default")
    whole = whole.replace_schema_metadata({MACHINES: "; ".join(sorted(machines))})
    sink = pa.BufferOutputStream()
    pq.write_table(whole, sink, compression="zstd")
    write_bytes(submission.folder / "runs.parquet", sink.getvalue().to_pybytes())
    return len(tables)


def kind_of_machine(manifest: Mapping[str, Any]) -> str:
    """Return what the last bits of a run depend on: the GPU, or processor and cores, as x86_64 with 8 cores; torch."""
    host = manifest["host"]
    where = host.get("gpu") or f"{host['machine']} with {host['cores']} cores"
    return f"{where}, torch {manifest['versions']['torch']}"


def machines_of(file: Path) -> str:
    """Return the kinds of machines that computed the runs of a submission."""
    metadata = pq.read_schema(pa.BufferReader(content_of(file, TABLE))).metadata or {}
    return (metadata.get(MACHINES) or b"not stated").decode(errors="replace")


def verify(submission: Submission, words: Sequence[str], salt: str, console: Console) -> None:
    """Raise a UserError that says why the submission is refused, or print that it is accepted.

    ``salt`` draws the cells that are computed again.
    """
    if submission.size == "full" and submission.version != (present := submission.board().version()):
        raise UserError(
            f"The submission is for the version {submission.version[:12]}, but the board is {present[:12]}."
        )
    check_contract(submission)
    found = submission.cells()
    together = composed(found, words)
    rows = submitted(submission.folder / "runs.parquet")
    check_complete(rows, [run for one in together for run in one.runs])
    sample = submission.sample(found, salt)
    console.print(
        f"Computed on: {in_line(machines_of(submission.folder / 'runs.parquet'))}", markup=False, soft_wrap=True
    )
    console.print(f"Cells are drawn by --salt {shlex.quote(salt)}", markup=False, highlight=False, soft_wrap=True)
    with tempfile.TemporaryDirectory() as place:
        again = composed(sample, [*(word for word in words if not word.startswith("results=")), f"results={place}"])
        recompute(again, rows, console)
    names = ", ".join(f"{cell.phase} {cell.workload.name}" for cell in sample)
    console.print(f"{submission.name}: {len(rows)} runs; computed again to the bit: {names}.", soft_wrap=True)


def check_contract(submission: Submission) -> None:
    """Refuse a method whose declared costs and properties are not those of its steps."""
    words = [f"{key}={value}" for key, value in submission.entrant.set.items() if key.startswith("algo.")]
    command = [sys.executable, str(ROOT / "bench" / "contract.py"), submission.entrant.method, *words]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if "FAIL" in line or not done.stdout]
        raise UserError("The method does not do what it declares:\n" + "\n".join(lines))


def submitted(file: Path) -> dict[str, Rows]:
    """Return the rows of each submitted run, by run_id."""
    if not file.is_file():
        raise UserError(f"{file} is missing. Write it with bench/board.py check NAME --pack.")
    try:
        table = read_table(content_of(file, TABLE), texts=True, rows=SUBMITTED)
    except (*UNREADABLE, pa.ArrowException) as error:
        raise UserError(f"{file} is no Parquet file: {error}.") from error
    if lacking := [name for name in ("run_id", "step", "node_loss", "gradients") if name not in table.column_names]:
        raise UserError(f"{file} has no column '{lacking[0]}'.")
    rows = table.to_pylist()
    if nameless := [row["run_id"] for row in rows if not is_name(row["run_id"])]:
        raise UserError(f"{file} has the run_id {reprlib.repr(nameless[0])}, which is not a valid name of a run.")
    out: dict[str, Rows] = {}
    for row in rows:
        out.setdefault(row.pop("run_id"), []).append(row)
    return out


def check_complete(rows: Mapping[str, Rows], runs: Sequence[RunConfig]) -> None:
    """Refuse missing and further runs, and evaluations at other steps than those of the protocol."""
    expected = {run.run_id: run for run in runs}
    if missing := [name for name in expected if name not in rows]:
        raise UserError(f"{len(missing)} of {len(expected)} runs are missing, for example {missing[0]}.")
    if strange := [name for name in rows if name not in expected]:
        raise UserError(f"{len(strange)} runs are not of the protocol, for example {strange[0]}.")
    for name, run in expected.items():
        steps, due = [row["step"] for row in rows[name]], StoredRun(run).due
        if steps != due[: len(steps)]:
            raise UserError(f"{name} has evaluations at the steps {steps}, but they are due at {due}.")


def recompute(cells: Sequence[Composed], rows: Mapping[str, Rows], console: Console) -> None:
    """Compute the runs of these cells again and refuse the first value that differs."""
    runs = {run.run_id: run for one in cells for run in one.runs}
    kept = valid(list(runs.values()), console)
    for result in run_sweep(kept, console, "board check"):
        if result.error is not None:
            raise UserError(f"{result.path.name} failed: {result.error}")
        name = result.path.name
        if sentence := difference(pq.read_table(result.path / "metrics.parquet").to_pylist(), rows[name]):
            raise UserError(f"The submission is refused: {name} {sentence}.")


def difference(ours: Rows, theirs: Rows) -> str | None:
    """Return how submitted rows differ from computed ones; None if all metrics are equal to the bit."""
    if len(ours) != len(theirs):
        return f"has {len(theirs)} evaluations, but the computation has {len(ours)}"
    for mine, other in zip(ours, theirs, strict=True):
        for column, value in mine.items():
            if column in TIMED:
                continue
            if column not in other:
                return f"has no column '{column}'"
            if repr(value) != repr(other[column]):  # equal for NaN, different for 0.0 and −0.0
                return f"has {column} = {other[column]!r} at step {mine['step']}, but the computation gives {value!r}"
    return None
