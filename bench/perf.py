"""How fast the suite is, here: python bench/perf.py [--quick] [--out FILE]

Times depend on the machine; the ratios to the floor, measured in the same run, say what the suite
adds to the arithmetic. The floor is the bare batched products of one iteration of all nodes, on one
core: no update, no mixing, no sampling, no activation.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    from bench.terminal.command import begin

    begin()

import torch
from rich.console import Console
from rich.table import Table
from torch import nn

from bench.base import files, integrity
from bench.base.errors import UserError
from bench.base.files import write_json
from bench.base.machine import cores
from bench.base.record import Row
from bench.base.registry import models, recipes
from bench.config.compose import compose_one
from bench.config.plan import of_command
from bench.config.run_config import RunConfig
from bench.data.recipe import data_folder, load
from bench.engine import stacked
from bench.engine.pool import Pool
from bench.engine.torch_setup import set_up_torch
from bench.network.mixing import build_mixing
from bench.store.manifest import describe
from bench.store.run_folder import RunFolder
from bench.sweep.recorder import Stored
from bench.sweep.sweep import Sweep, run_all
from bench.terminal.command import command
from bench.terminal.display import Display
from bench.training.observer import Moment, Observer, Outcome

ROOT = Path(__file__).resolve().parents[1]
NODES = 8
PERCEPTRON = ["dataset=planted", "model=mlp", "batch_size=32"]
IMAGES = ["dataset.samples=1024", "dataset.tests=1024", "dataset.features=784", "dataset.square=true"]
LENET = ["dataset=planted", *IMAGES, "model=lenet", "batch_size=32"]
LEAST_SQUARES = ["dataset=synthetic", "batch_size=1", "dataset.evaluation=100"]
MATRICES = {  # (rows, inner, columns) of the products of one node's gradient
    "perceptron": [(32, 123, 64), (32, 64, 2), (64, 32, 2), (32, 2, 64), (123, 32, 64)],
    "least squares": [(1, 100, 1), (1, 1, 100)],
}

Entry = dict[str, Any]


def floor_ms(work: str) -> float:
    """The products alone."""
    pairs = [(torch.randn(NODES, a, b), torch.randn(NODES, b, c)) for a, b, c in MATRICES[work]]
    return 1e3 * best(lambda: [torch.bmm(x, y) for x, y in pairs], 200)


def best(function: Callable[[], object], repeat: int) -> float:
    """Seconds a call, the best of seven rounds."""
    times = []
    for _ in range(7):
        began = time.perf_counter()
        for _ in range(repeat):
            function()
        times.append((time.perf_counter() - began) / repeat)
    return min(times)


class Rows(Observer):
    """Keeps the rows of one run, the first of a group."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def record(self, r: int, row: Row) -> None:
        if r == 0:
            self.rows.append(row)


def iteration_ms(run: Callable[[RunConfig, Observer], object], config: RunConfig) -> float:
    """Computing and communicating in the second half of a run, per step; the median of three runs."""
    times = []
    for _ in range(3):
        kept = Rows()
        run(config, kept)
        spent = [row["compute_s"] + row["comm_s"] for row in kept.rows]
        times.append(1e3 * (spent[-1] - spent[-2]) / (kept.rows[-1]["step"] - kept.rows[-2]["step"]))
    return statistics.median(times)


def on_stacked(config: RunConfig, observer: Observer) -> None:
    stacked.run([config], observer)


def on(pool: Pool) -> Callable[[RunConfig, Observer], None]:
    return lambda config, observer: pool.run([config], observer)


def engines(steps: int) -> list[Entry]:
    """Milliseconds an iteration of D-NASA on 8 nodes in a ring, by engine."""
    with closing(Pool()) as pool:
        return list(_engines(pool, steps))


def _engines(pool: Pool, steps: int) -> Iterator[Entry]:
    for work, words in (("perceptron", PERCEPTRON), ("least squares", LEAST_SQUARES)):
        floor = floor_ms(work)
        common = [*words, f"nodes={NODES}", f"steps={steps}", f"eval_every={steps // 2}"]
        yield {"what": f"{work}: floor", "ms": floor, "ratio": 1.0}
        ms = iteration_ms(on_stacked, compose_one([*common, "engine=stacked"]))
        yield {"what": f"{work}: stacked", "ms": ms, "ratio": ms / floor}
        for ranks in dict.fromkeys((min(NODES, cores()), NODES)):
            ms = iteration_ms(on(pool), compose_one([*common, "engine=mpi", f"ranks={ranks}"]))
            yield {"what": f"{work}: mpi, {ranks} ranks", "ms": ms, "ratio": ms / floor}


REPLICAS = (1, 5, 25, 125)


def batched(device: str, work: str, words: list[str], sizes: Sequence[int], steps: int) -> list[Entry]:
    """Milliseconds per replica and step of D-NASA on 8 nodes, for R runs as one program, beside R separate runs.

    On a CPU, R runs are shared between a process per core, as in a long sweep; one run has a core.
    """
    entries: list[Entry] = []
    lanes = cores() if device == "cpu" else 1
    common = [*words, f"nodes={NODES}", "engine=stacked", f"device={device}", "checkpoint_every=null"]
    for r in sizes:
        length = max(4, steps // r) if device == "cpu" else steps
        first = compose_one([*common, f"steps={length}", f"eval_every={length // 2}"])
        group = [RunConfig(**{**vars(first), "seed": seed}) for seed in range(r)]
        used = min(lanes, r)
        ms = [lane_ms(part) for part in side_by_side([group[i::used] for i in range(used)])]
        each = statistics.mean(ms) / used
        if not entries:
            alone = each
        entries.append({"what": f"{work}, {device}: R = {r}", "ms": each, "ratio": each / alone})
    return entries


def lane_ms(rows: list[Row]) -> float:
    """Milliseconds per replica and step in the second half of a group's run."""
    spent = [row["compute_s"] + row["comm_s"] for row in rows]
    return 1e3 * (spent[-1] - spent[-2]) / (rows[-1]["step"] - rows[-2]["step"])


def side_by_side(groups: Sequence[Sequence[RunConfig]]) -> list[list[Row]]:
    """Run groups at the same time, each in a process of its own; the rows of each one's first run."""
    kept = [Rows() for _ in groups]

    def work(group: Sequence[RunConfig], observer: Rows) -> None:
        with closing(Pool(len(groups))) as pool:
            pool.run(group, observer)

    threads = [threading.Thread(target=work, args=pair) for pair in zip(groups, kept, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [observer.rows for observer in kept]


def networks() -> list[Entry]:
    """Gradients of 8 LeNets on batches of 32 images, against torch.nn one network at a time; on one core and on all."""
    entries: list[Entry] = []
    images, labels = torch.randn(NODES, 32, 28, 28), torch.randint(0, 10, (NODES, 32))
    model = models["lenet"]((28, 28), 10)
    x = 0.1 * torch.randn(NODES, model.layout.size)
    delta = torch.randn(NODES, 32, 10)

    def ours() -> None:
        with torch.inference_mode():
            model.linearise(x, images)[1](delta)

    def plain() -> None:
        for net, image, label in zip(nets, images, labels, strict=True):
            net.zero_grad(set_to_none=True)
            nn.functional.cross_entropy(net(image.unsqueeze(1)), label).backward()

    nets = [plain_lenet() for _ in range(NODES)]
    for threads in dict.fromkeys((1, cores())):
        torch.set_num_threads(threads)
        base = 1e3 * best(plain, 3)
        entries.append({"what": f"8 plain networks, {threads} threads", "ms": base, "ratio": 1.0})
        ms = 1e3 * best(ours, 3)
        entries.append({"what": f"8 stacked networks, {threads} threads", "ms": ms, "ratio": ms / base})
    torch.set_num_threads(1)
    return entries


def plain_lenet() -> nn.Module:
    return nn.Sequential(
        *(nn.Conv2d(1, 6, 5), nn.Tanh(), nn.MaxPool2d(2)),
        *(nn.Conv2d(6, 16, 5), nn.Tanh(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(256, 84), nn.Tanh(), nn.Linear(84, 10)),
    )


def data() -> list[Entry]:
    """Loading what lies prepared in the data folder, checksum included."""
    entries: list[Entry] = []
    for name in recipes:
        with suppress(UserError):
            began = time.perf_counter()
            load(name, data_folder())
            entries.append({"what": f"loading {name}", "s": time.perf_counter() - began})
    return entries


class Timed(Stored):
    """Counts the seconds that storing takes."""

    seconds = 0.0

    def learn(self, r: int, facts: Row) -> None:
        self._timed(super().learn, r, facts)

    def record(self, r: int, row: Row) -> None:
        self._timed(super().record, r, row)

    def end(self, r: int, outcome: Outcome) -> None:
        self._timed(super().end, r, outcome)

    def checkpoint(self, r: int, moment: Moment) -> None:
        self._timed(super().checkpoint, r, moment)

    def _timed(self, function: Callable[..., None], *arguments: object) -> None:
        began = time.perf_counter()
        function(*arguments)
        self.seconds += time.perf_counter() - began


def storing(steps: int, runs: int) -> list[Entry]:
    """What the run store costs a run with 50 evaluations, and what it takes to read many runs."""
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
        said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    return [
        {"what": f"storing a run of {wall:.1f} s with 50 evaluations", "s": observer.seconds},
        {"what": "the same, as a part of the run", "ratio": observer.seconds / wall},
        {"what": f"analysis.load of {runs} runs, {said[1]} rows", "s": float(said[0])},
    ]


def digests(runs: int) -> list[Entry]:
    """CPU time of a sweep of short runs with 21 evaluations each, stored and read back, and of its digests alone.

    They are computed again by themselves: the difference of two sweeps would be lost in what else a machine does.
    """
    words = ["dataset=quadratics", "algo=dsgd", "steps=20", "eval_every=1", "engine=stacked", "tracker=none"]
    hashed: list[bytes] = []

    class Noting:
        @staticmethod
        def sha256(content: bytes) -> Any:
            hashed.append(content)
            return hashlib.sha256(content)

    with tempfile.TemporaryDirectory() as place:
        configs = of_command([*words, f"seed=range({runs})", f"results={place}"])
        vars(files)["hashlib"] = Noting
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
    """What it takes to draw and report a real sweep of 62 runs a seed with 50 evaluations each."""
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
    """Starting a world, one more configuration in a warm one, and the memory of a rank."""
    config = compose_one([*PERCEPTRON, f"nodes={NODES}", "steps=100", "engine=mpi"])
    with closing(Pool()) as pool, tempfile.TemporaryDirectory() as folder:
        extra, waits, peaks = [], [], []
        runs = [RunConfig(**{**vars(config), "seed": seed, "results": folder}) for seed in range(6)]
        sweep = Sweep(Display(Console(quiet=True), [run.steps for run in runs]))
        for run in runs:
            store = RunFolder(run)
            began = time.perf_counter()
            sweep.run_group([store], pool, in_process=False)
            waits.append(time.perf_counter() - began)
            extra.append(waits[-1] - store.summary()["wall_s"])
            (world,) = pool._worlds.values()
            peaks.append(max(world.peak_mb.values()))
        idle = max(world.idle_mb.values())
    return [
        {"what": f"start of {world.ranks} ranks", "s": extra[0] - statistics.median(extra[1:])},
        {"what": "one more configuration in a warm world", "s": statistics.median(extra[1:])},
        {"what": "memory of an idle rank", "mb": idle},
        {"what": "the most a rank needed beyond that", "mb": peaks[-1] - idle},
    ]


def scaling(sizes: list[int]) -> list[Entry]:
    """Stacked D-NASA on a ring, per node and step, relative to the first size."""
    entries: list[Entry] = []
    for n in sizes:
        words = [*PERCEPTRON, f"nodes={n}", "steps=20", "eval_every=10", "engine=stacked", "dataset.samples=32768"]
        microseconds = 1e3 * iteration_ms(on_stacked, compose_one(words)) / n
        first = entries[0]["us"] if entries else microseconds
        entries.append({"what": f"ring of {n}: a step, per node", "us": microseconds, "ratio": microseconds / first})
    return entries


def gossip(steps: int) -> list[Entry]:
    """D-NASA on 64 nodes: networks that change, relative to the ring that does not; and thousands of nodes."""
    kinds = {
        "a ring": ["topology=ring"],
        "a ring that loses 10 %": ["topology=ring", "links=lossy"],
        "a ring with outages": ["topology=ring", "links=outages"],
        "matchings": ["topology=matching"],
        "random graphs, p = 0.05": ["topology=random_each_round", "topology.p=0.05"],
    }
    entries: list[Entry] = []
    for work, words in (("perceptrons", PERCEPTRON), ("quadratics of 10", ["dataset=quadratics"])):
        size = steps if work == "perceptrons" else 10 * steps
        common = [*words, "nodes=64", f"steps={size}", f"eval_every={size // 2}", "engine=stacked"]
        runs = {kind: compose_one([*common, *network]) for kind, network in kinds.items()}
        times: dict[str, list[float]] = {kind: [] for kind in kinds}
        for _ in range(5):
            for kind, config in runs.items():
                kept = Rows()
                on_stacked(config, kept)
                spent = [row["compute_s"] + row["comm_s"] for row in kept.rows]
                times[kind].append(1e3 * (spent[-1] - spent[-2]) / (size - size // 2))
        floor = min(times["a ring"])
        entries += [{"what": f"64 {work}: {k}", "ms": min(t), "ratio": min(t) / floor} for k, t in times.items()]
    first = None
    for n in (512, 4096):
        began = time.perf_counter()
        config = compose_one(["dataset=quadratics", f"nodes={n}", "steps=100", "eval_every=50", "engine=stacked"])
        certificate = build_mixing("ring", n)
        entries.append({"what": f"ring of {n}: its certificate", "s": time.perf_counter() - began})
        assert certificate.nodes == n
        microseconds = 1e3 * iteration_ms(on_stacked, config) / n
        first = first or microseconds
        entries.append({"what": f"ring of {n}: a step, per node", "us": microseconds, "ratio": microseconds / first})
    return entries


def table(title: str, entries: list[Entry]) -> Table:
    units = [unit for unit in ("ms", "us", "s", "mb", "ratio") if any(unit in entry for entry in entries)]
    out = Table(title, *units)
    for entry in entries:
        out.add_row(entry["what"], *(f"{entry[unit]:.3g}" if unit in entry else "" for unit in units))
    return out


def all_batched(device: str, sizes: Sequence[int], steps: int) -> list[Entry]:
    """Perceptrons and LeNets on one device; LeNet's larger groups are left to GPUs."""
    floor: Entry = {"what": "perceptron: floor of one run on one core", "ms": floor_ms("perceptron")}
    lenets = [r for r in sizes if device == "cuda" or r <= 25]
    return [
        floor,
        *batched(device, "perceptron", PERCEPTRON, sizes, steps),
        *batched(device, "LeNet", LENET, lenets, steps // 10),
    ]


@command
def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer steps and sizes")
    parser.add_argument("--only", default="", metavar="WORD", help="only the tables with this word in their title")
    parser.add_argument("--out", type=Path, default=Path("perf.json"), help="where the numbers go as JSON")
    arguments = parser.parse_args()
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
        "LeNet, 8 nodes: gradients": networks,
        "around a run": lambda: [*overheads(), *data()],
        "the store": lambda: storing(*((1000, 100) if quick else (8000, 1000))),
        "the digests of the store": lambda: digests(50 if quick else 500),
        "figures and report": lambda: reporting(2 if quick else 17),
        "networks that change, and large ones": lambda: gossip(40 if quick else 200),
        "size of the network": lambda: scaling([8, 32] if quick else [8, 32, 128, 512]),
    }
    console = Console(width=None if sys.stdout.isatty() else 100, highlight=False)
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
    return 0


if __name__ == "__main__":
    sys.exit(main())
