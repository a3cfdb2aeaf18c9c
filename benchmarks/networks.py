"""Networks that change, and large networks."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from contextlib import closing

from bench.base.home import ROOT
from bench.config.compose import compose_one
from bench.engine.pool import Pool
from bench.network.mixing import build_mixing
from benchmarks.clock import NODES, PERCEPTRON, Entry, Rows, iteration_ms, on, on_stacked


def scaling(sizes: list[int]) -> list[Entry]:
    """Time per node and step of D-NASA on rings with the stacked engine, relative to the first size."""
    entries: list[Entry] = []
    for n in sizes:
        words = [*PERCEPTRON, f"nodes={n}", "steps=20", "eval_every=10", "engine=stacked", "dataset.samples=32768"]
        microseconds = 1e3 * iteration_ms(on_stacked, compose_one(words)) / n
        first = entries[0]["us"] if entries else microseconds
        entries.append({"what": f"ring of {n}: a step, per node", "us": microseconds, "ratio": microseconds / first})
    return entries


def many(sizes: list[int]) -> list[Entry]:
    """Quadratics on a ring: a whole command with one step, and time per step by engine, the minimum of five."""
    entries: list[Entry] = []
    for n in (NODES, *sizes):
        wall, cpu = map(min, zip(*(_command(n) for _ in range(3)), strict=True))
        entries.append({"what": f"ring of {n}: set-up", "s": wall})
        entries.append({"what": f"ring of {n}: set-up, seconds of CPU", "s": cpu})
    with closing(Pool()) as pool:
        for n in sizes:
            words = ["dataset=quadratics", "topology=ring", f"nodes={n}", "steps=100", "eval_every=50"]
            kinds = {
                "stacked": (on_stacked, compose_one([*words, "engine=stacked"])),
                "mpi, 2 ranks": (on(pool), compose_one([*words, "engine=mpi", "ranks=2"])),
            }
            times: dict[str, list[float]] = {kind: [] for kind in kinds}
            for _ in range(5):
                for kind, (run, config) in kinds.items():
                    times[kind].append(iteration_ms(run, config, repeat=1))
            floor = min(times["stacked"])
            steps = {kind: min(each) for kind, each in times.items()}
            entries += [{"what": f"ring of {n}: a step, {k}", "ms": t, "ratio": t / floor} for k, t in steps.items()]
    return entries


def _command(n: int) -> tuple[float, float]:
    """Wall and CPU seconds of a command with one step, from the start of Python to the table of results."""
    words = ["engine=stacked", "dataset=quadratics", "topology=ring", f"nodes={n}", "steps=1", "tracker=none"]
    with tempfile.TemporaryDirectory() as place:
        began, before = time.perf_counter(), os.times()
        command = [sys.executable, "bench/run.py", *words, f"results={place}"]
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        wall, after = time.perf_counter() - began, os.times()
    return wall, sum(after[2:4]) - sum(before[2:4])  # of child processes


def gossip(steps: int) -> list[Entry]:
    """D-NASA on 64 nodes: changing networks, relative to a static ring; and rings of thousands of nodes."""
    kinds = {
        "a ring": ["topology=ring"],
        "a lossy ring, p = 0.1": ["topology=ring", "links=lossy"],
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
                recorded = Rows()
                on_stacked(config, recorded)
                spent = [row["compute_s"] + row["comm_s"] for row in recorded.rows]
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
