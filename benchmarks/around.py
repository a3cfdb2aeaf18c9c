"""Time spent outside of runs: start of ranks, storage, loading of data, figures and reports."""

from __future__ import annotations

import hashlib
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from bench.base.errors import UserError
from bench.base.home import ROOT
from bench.base.registry import recipes
from bench.build.manifest import describe
from bench.config.compose import compose_one
from bench.config.plan import of_command
from bench.config.run_config import RunConfig
from bench.data.recipe import data_folder, load
from bench.engine import stacked
from bench.engine.pool import Pool
from bench.store import files, integrity
from bench.store.files import write_json
from bench.store.record import Row
from bench.store.run_folder import RunFolder
from bench.sweep.recorder import Stored
from bench.sweep.sweep import run_all
from bench.sweep.workers import Executor
from bench.terminal.console import Console
from bench.terminal.display import Display
from bench.training.observer import Outcome, Snapshot
from benchmarks.clock import NODES, PERCEPTRON, Entry, best


def data() -> list[Entry]:
    """Time to load each prepared dataset, including its checksum."""
    entries: list[Entry] = []
    for name in recipes:
        with suppress(UserError):
            began = time.perf_counter()
            load(name, data_folder())
            entries.append({"what": f"loading {name}", "s": time.perf_counter() - began})
    return entries


class Timed(Stored):
    """Measures the seconds that storage takes."""

    seconds = 0.0

    def learn(self, r: int, facts: Row) -> None:
        self._timed(super().learn, r, facts)

    def record(self, r: int, row: Row) -> None:
        self._timed(super().record, r, row)

    def end(self, r: int, outcome: Outcome) -> None:
        self._timed(super().end, r, outcome)

    def checkpoint(self, r: int, moment: Snapshot) -> None:
        self._timed(super().checkpoint, r, moment)

    def _timed(self, function: Callable[..., None], *arguments: object) -> None:
        began = time.perf_counter()
        function(*arguments)
        self.seconds += time.perf_counter() - began


def storing(steps: int, runs: int) -> list[Entry]:
    """Storage time of a run with 50 evaluations, and time to load many runs."""
    words = [*PERCEPTRON, f"nodes={NODES}", f"steps={steps}", f"eval_every={steps // 50}", "engine=stacked"]
    with tempfile.TemporaryDirectory() as place:
        folder = RunFolder(compose_one([*words, f"results={place}"]))
        with Display(Console(quiet=True), [steps]) as display:
            display.begin([folder], "perf", steps, 0)
            observer = Timed([folder], display)
            began = time.perf_counter()
            folder.begin(describe(folder.config))
            observer.seconds += time.perf_counter() - began
            stacked.run([folder.config], observer)
            wall = time.perf_counter() - began
        for number in range(1, runs):
            copy = Path(shutil.copytree(folder.path, folder.path.with_name(f"copy-{number}")))
            for name in ("summary.json", "manifest.json"):
                write_json(copy / name, {**json.loads((copy / name).read_text()), "run_id": copy.name})
        code = "import sys, time; import analysis; t = time.perf_counter(); n = len(analysis.load(sys.argv[1]))"
        command = [sys.executable, "-c", f"{code}; print(time.perf_counter() - t, n)", place]
        printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    return [
        {"what": f"storing a run of {wall:.1f} s with 50 evaluations", "s": observer.seconds},
        {"what": "storage / duration of the run", "ratio": observer.seconds / wall},
        {"what": f"analysis.load of {runs} runs, {printed[1]} rows", "s": float(printed[0])},
    ]


def digests(runs: int) -> list[Entry]:
    """CPU time of a sweep of short runs with 21 evaluations each, stored and read back, and of its digests alone.

    The digests are timed separately, since the difference of two sweeps is smaller than the noise.
    """
    words = ["dataset=quadratics", "algo=dsgd", "steps=20", "eval_every=1", "engine=stacked", "tracker=none"]
    hashed: list[bytes] = []

    class Recording:
        @staticmethod
        def sha256(content: bytes) -> Any:
            hashed.append(content)
            return hashlib.sha256(content)

    with tempfile.TemporaryDirectory() as place:
        configs = of_command([*words, f"seed=range({runs})", f"results={place}"])
        vars(files)["hashlib"] = Recording
        try:
            began = time.process_time()
            run_all(configs, Console(quiet=True))
            for config in configs:
                integrity.examine(RunFolder(config).path)
            sweep = time.process_time() - began
        finally:
            vars(files)["hashlib"] = hashlib
    alone = best(lambda: [files.sha256(content) for content in hashed], 1)
    return [
        {"what": f"a run of {runs}, stored and read back", "ms": 1e3 * sweep / runs, "ratio": 1.0},
        {"what": f"its {len(hashed) / runs:.0f} digests", "ms": 1e3 * alone / runs, "ratio": alone / sweep},
    ]


def reporting(seeds: int) -> list[Entry]:
    """Time of the figures and the report of a sweep with 62 runs per seed and 50 evaluations each."""
    small = ["dataset=digits", "steps=50", "eval_every=1", "topology=ring,complete", "engine=stacked", "tracker=none"]
    numbers = f"seed={','.join(map(str, range(seeds)))}"
    with tempfile.TemporaryDirectory() as place:
        tuned = ["algo=dsgd,dsgt,dasagt", "algo.eta=0.005,0.01,0.05,0.1,0.5,1,5,10,50,100"]
        for words in (tuned, ["algo=dnasa"]):
            run_all(of_command([*words, *small, numbers, f"results={place}"]), Console(quiet=True))
        runs = len(list((Path(place) / "runs").iterdir()))
        entries: list[Entry] = []
        for script in ("make_figures", "make_report"):
            began = time.perf_counter()
            command = [sys.executable, f"analysis/{script}.py", "--results", place]
            subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
            entries.append({"what": f"{script}.py of {runs} runs", "s": time.perf_counter() - began})
        entries[-1]["mb"] = (Path(place) / "report.html").stat().st_size / 1e6
    return entries


def overheads() -> list[Entry]:
    """Time to start ranks and to run one more configuration on warm ranks, and the memory of a rank."""
    config = compose_one([*PERCEPTRON, f"nodes={NODES}", "steps=100", "engine=mpi"])
    with closing(Pool()) as pool, tempfile.TemporaryDirectory() as folder:
        extra, waits, peaks = [], [], []
        runs = [RunConfig(**{**vars(config), "seed": seed, "results": folder}) for seed in range(6)]
        sweep = Executor(Display(Console(quiet=True), [run.steps for run in runs]))
        for run in runs:
            store = RunFolder(run)
            began = time.perf_counter()
            sweep.run_group([store], pool, in_process=False)
            waits.append(time.perf_counter() - began)
            extra.append(waits[-1] - store.summary()["wall_s"])
            (ranks,) = pool._rank_pools.values()
            peaks.append(max(ranks.peak_mb.values()))
        idle = max(ranks.idle_mb.values())
    return [
        {"what": f"start of {ranks.ranks} ranks", "s": extra[0] - statistics.median(extra[1:])},
        {"what": "one more configuration on warm ranks", "s": statistics.median(extra[1:])},
        {"what": "memory of an idle rank", "mb": idle},
        {"what": "peak memory of a rank beyond that", "mb": peaks[-1] - idle},
    ]
