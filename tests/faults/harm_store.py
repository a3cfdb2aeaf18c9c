"""Harm to the files of runs: nothing of it may be believed, end a sweep, or stay unnoticed for ever."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import torch
from rich.console import Console

from analysis import load
from bench.build.manifest import describe
from bench.engine import stacked
from bench.store.files import check_rows
from bench.store.record import Row
from bench.store.run_folder import RunFolder
from bench.sweep.recorder import Stored
from bench.sweep.resume import resume_point
from bench.sweep.sweep import run_all
from bench.training import checkpoint
from bench.training.checkpoint import Resume
from tests.faults.table import fault
from tests.helpers.cli import typed
from tests.helpers.configs import config
from tests.helpers.damage import cut, flip, swap, zero

THEME = "Damaged files"
NOTICED, SAME, ASIDE = (
    "the damage is detected, and the next sweep repeats the run",
    "harmless, since the numbers are the same",
    "the file is moved to damaged/, and the repeated run gives the same numbers",
)
EARLIER, LATEST = "the run resumes from an earlier checkpoint", "the run resumes from the latest checkpoint"
START = "the run starts again"
TIMES = ["compute_s", "comm_s", "eval_s", "wall_s"]
Way = Callable[[Path, random.Random], None]


def finished(folder: Path) -> RunFolder:
    """A run that is done."""
    c = config(results=str(folder), eval_every=4)
    if not RunFolder(c).path.exists():
        assert run_all([c], Console(quiet=True)) == 0
    run = RunFolder(c)
    assert run.final
    return run


class Killed(Exception):
    """A run ends here."""


class Until(Stored):
    """Keeps rows and checkpoints of a run until a step, and then no more."""

    def tick(self, t: int) -> None:
        if t == 35:
            raise Killed

    def record(self, r: int, row: Row) -> None:
        self._folders[r].record(row)


def unfinished(folder: Path) -> RunFolder:
    """A run that was killed after step 34, with checkpoints at 20 and 30."""
    c = config(results=str(folder), eval_every=4, checkpoint_every=10)
    run = RunFolder(c)
    run.begin(describe(c))
    with suppress(Killed):
        stacked.run([c], Until([run], None))  # type: ignore[arg-type]
    assert resume_point(run) is not None
    return run


def numbers(results: Path) -> pd.DataFrame | None:
    """What the analysis believes; None where it names the run as unreadable, or has no row of it."""
    table = load(results)
    if table.attrs["unreadable"] or "step" not in table:
        return None
    return table.drop(columns=[*TIMES, "results", "state"])


def judge_final(run: RunFolder, expected: pd.DataFrame) -> str:
    """What became of a finished run one of whose files was harmed."""
    believed = numbers(Path(run.config.results))
    if believed is not None and not believed.equals(expected):
        return "A WRONG NUMBER BELIEVED"
    if not run.final:
        return NOTICED
    return SAME if believed is not None else "done for ever, and unreadable"


def harm_final(name: str, ways: tuple[Way, ...]) -> Callable[[int, Path], Counter[str]]:
    """Harm one file of a finished run again and again."""

    def harm(trials: int, folder: Path) -> Counter[str]:
        run, seen, chance = finished(folder), Counter[str](), random.Random(16)
        expected, path = numbers(folder), run.path / name
        assert expected is not None
        whole = path.read_bytes()
        for trial in range(trials):
            ways[trial % len(ways)](path, chance)
            seen[NOTHING if path.read_bytes() == whole else judge_final(run, expected)] += 1
            path.write_bytes(whole)
        assert run.final
        return seen

    return harm


NOTHING = "harmless, since no byte of the file changed"
FINAL = (NOTICED, SAME, NOTHING)
OTHERS = (cut, zero, swap)


@fault(THEME, "one bit of metrics.parquet flips", allowed=(NOTICED,), quick=40, full=3000)
def flipped_metrics(trials: int, folder: Path) -> Counter[str]:
    return harm_final("metrics.parquet", (flip,))(trials, folder)


@fault(THEME, "parts of metrics.parquet are cut, zeroed or reordered", allowed=FINAL, quick=15, full=600)
def torn_metrics(trials: int, folder: Path) -> Counter[str]:
    return harm_final("metrics.parquet", OTHERS)(trials, folder)


@fault(THEME, "one bit of summary.json flips", allowed=FINAL, quick=20, full=1000)
def flipped_summary(trials: int, folder: Path) -> Counter[str]:
    return harm_final("summary.json", (flip,))(trials, folder)


@fault(THEME, "one bit of status.json flips", allowed=FINAL, quick=10, full=1000)
def flipped_status(trials: int, folder: Path) -> Counter[str]:
    return harm_final("status.json", (flip,))(trials, folder)


@fault(THEME, "one bit of manifest.json flips", allowed=FINAL, quick=10, full=1000)
def flipped_manifest(trials: int, folder: Path) -> Counter[str]:
    return harm_final("manifest.json", (flip,))(trials, folder)


@fault(THEME, "one bit of config.yaml flips", allowed=FINAL, quick=10, full=500)
def flipped_config(trials: int, folder: Path) -> Counter[str]:
    return harm_final("config.yaml", (flip,))(trials, folder)


@fault(THEME, "parts of a JSON file or config.yaml are cut, zeroed or reordered", allowed=FINAL, quick=16, full=1200)
def torn_texts(trials: int, folder: Path) -> Counter[str]:
    names = ("summary.json", "status.json", "manifest.json", "config.yaml")
    shares = [trials // 4 + (i < trials % 4) for i in range(4)]
    seen = Counter[str]()
    for name, share in zip(names, shares, strict=True):
        seen += harm_final(name, OTHERS)(share, folder)
    return seen


class Unfinished:
    """A killed run, and what it would go on from."""

    def __init__(self, folder: Path) -> None:
        self.run = unfinished(folder)
        self.rows, _ = check_rows(self.run.stream)
        self.states = {step: self.state(step) for step in checkpoint.steps(self.run.checkpoints, 6)}
        self.believed = numbers(folder)

    def state(self, step: int) -> dict[str, np.ndarray]:
        resume = Resume(step, [self.run.checkpoints], [{}])
        moment = checkpoint.load(resume, range(6), torch.float64, torch.device("cpu"))
        return {name: tensor.numpy() for name, tensor in moment.state.items()}

    def judge(self, harmed: Path) -> str:
        """Where it goes on now."""
        believed = numbers(Path(self.run.config.results)) if harmed == self.run.stream else None
        if believed is not None and not believed.equals(self.believed.iloc[: len(believed)]):
            return "A WRONG NUMBER BELIEVED"
        point = resume_point(self.run)
        if point is None:
            return START
        step, rows = point
        if rows != [row for row in self.rows if row["step"] <= step]:
            return "WRONG ROWS BELIEVED"
        then = self.state(step)
        if any(not np.array_equal(then[name], array) for name, array in self.states[step].items()):
            return "A WRONG STATE BELIEVED"
        return LATEST if step == 30 else EARLIER


def harm_unfinished(pattern: str, ways: tuple[Way, ...], trials: int, folder: Path) -> Counter[str]:
    killed, seen, chance = Unfinished(folder), Counter[str](), random.Random(16)
    for trial in range(trials):
        path = chance.choice(sorted(killed.run.path.glob(pattern)))
        whole = path.read_bytes()
        ways[trial % len(ways)](path, chance)
        seen[killed.judge(path)] += 1
        path.write_bytes(whole)
    return seen


@fault(THEME, "one bit of a checkpoint flips", allowed=(EARLIER, LATEST), quick=20, full=3000)
def flipped_checkpoint(trials: int, folder: Path) -> Counter[str]:
    return harm_unfinished("checkpoint/*.npz", (flip,), trials, folder)


@fault(THEME, "parts of a checkpoint are cut, zeroed or reordered", allowed=(EARLIER, LATEST), quick=6, full=900)
def torn_checkpoint(trials: int, folder: Path) -> Counter[str]:
    return harm_unfinished("checkpoint/*.npz", OTHERS, trials, folder)


@fault(THEME, "one bit of metrics.jsonl flips", allowed=(EARLIER, LATEST, START), quick=40, full=2000)
def flipped_stream(trials: int, folder: Path) -> Counter[str]:
    return harm_unfinished("metrics.jsonl", (flip,), trials, folder)


@fault(
    THEME, "parts of metrics.jsonl are cut, zeroed or reordered", allowed=(EARLIER, LATEST, START), quick=15, full=900
)
def torn_stream(trials: int, folder: Path) -> Counter[str]:
    return harm_unfinished("metrics.jsonl", OTHERS, trials, folder)


SWEEP = ("dataset=digits", "steps=60", "eval_every=20", "nodes=4", "batch_size=8", "dtype=float64",
         "engine=stacked", "tracker=none")  # fmt: skip


@fault(THEME, "a file of a finished sweep is damaged, and the command is repeated", allowed=(ASIDE,),
       quick=0, often=5, full=25)  # fmt: skip
def swept_again(trials: int, folder: Path) -> Counter[str]:
    chance, seen = random.Random(16), Counter[str]()
    words = [*SWEEP, "-m", "seed=0,1,2"]
    assert typed(*words, cwd=folder).returncode == 0
    runs = sorted((folder / "results" / "runs").iterdir())
    expected = [pq.read_table(run / "metrics.parquet").to_pandas().drop(columns=TIMES) for run in runs]
    names = ("metrics.parquet", "summary.json", "manifest.json", "status.json", "config.yaml")
    for trial in range(trials):
        hurt = chance.choice(runs)
        path = hurt / names[trial % len(names)]
        whole = path.read_bytes()
        content = bytearray(whole)
        content[len(content) // 2] ^= 1 << chance.randrange(8)  # the middle of a file always counts
        path.write_bytes(content)
        done = typed(*words, cwd=folder)
        kept = [(hurt / "damaged" / p.name).read_bytes() for p in (hurt / "damaged").glob(f"{path.name}.*")]
        said = f"{hurt.name}: {path.name} " in done.stdout
        logged = f"{path.name} " in (hurt / "log.txt").read_text()
        again = [pq.read_table(run / "metrics.parquet").to_pandas().drop(columns=TIMES) for run in runs]
        # Groups of other sizes may differ in the last bit, by the processor.
        same = all(
            np.allclose(one, other, rtol=1e-10, atol=1e-14, equal_nan=True)
            for one, other in zip(again, expected, strict=True)
        )
        good = done.returncode == 0 and bytes(content) in kept and said and logged and same
        seen[ASIDE if good else f"{path.name}: {done.stdout}{done.stderr}"] += 1
        shutil.rmtree(hurt / "damaged", ignore_errors=True)
    return seen
