"""Time per step of D-NASA by engine, and of many runs as one program."""

from __future__ import annotations

import statistics
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing

import torch

from bench.base.machine import cores
from bench.base.registry import models
from bench.config.compose import compose_one
from bench.config.run_config import RunConfig
from bench.engine.pool import Pool
from bench.store.record import Row
from benchmarks.clock import (
    LEAST_SQUARES,
    LENET,
    NODES,
    PERCEPTRON,
    Entry,
    Rows,
    best,
    floor_ms,
    iteration_ms,
    on,
    on_stacked,
)
from benchmarks.plain import lenet


def engines(steps: int) -> list[Entry]:
    """Milliseconds per iteration of D-NASA on a ring of 8 nodes, by engine."""
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
    """Milliseconds per replica and step of D-NASA on 8 nodes, for R runs as one program.

    On a CPU, the R runs are divided among one process per core, as in a long sweep.
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
    """Run groups at the same time, each in its own process; return the rows of the first run of each."""
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


def all_batched(device: str, sizes: Sequence[int], steps: int) -> list[Entry]:
    """Perceptrons and LeNets on one device; groups of more than 25 LeNets run on GPUs only."""
    floor: Entry = {"what": "perceptron: floor of one run on one core", "ms": floor_ms("perceptron")}
    lenets = [r for r in sizes if device == "cuda" or r <= 25]
    return [
        floor,
        *batched(device, "perceptron", PERCEPTRON, sizes, steps),
        *batched(device, "LeNet", LENET, lenets, steps // 10),
    ]


def networks() -> list[Entry]:
    """Gradients of 8 LeNets on batches of 32 images, and the same with torch.nn one by one; on one core and on all."""
    entries: list[Entry] = []
    images, labels = torch.randn(NODES, 32, 28, 28), torch.randint(0, 10, (NODES, 32))
    model = models["lenet"]((28, 28), 10)
    x = 0.1 * torch.randn(NODES, model.layout.size)
    delta = torch.randn(NODES, 32, 10)

    def ours() -> None:
        with torch.inference_mode():
            model.linearize(x, images)[1](delta)

    def plain() -> None:
        for net, image, label in zip(nets, images, labels, strict=True):
            net.zero_grad(set_to_none=True)
            torch.nn.functional.cross_entropy(net(image.unsqueeze(1)), label).backward()

    nets = [lenet() for _ in range(NODES)]
    for threads in dict.fromkeys((1, cores())):
        torch.set_num_threads(threads)
        base = 1e3 * best(plain, 3)
        entries.append({"what": f"8 plain networks, {threads} threads", "ms": base, "ratio": 1.0})
        ms = 1e3 * best(ours, 3)
        entries.append({"what": f"8 stacked networks, {threads} threads", "ms": ms, "ratio": ms / base})
    torch.set_num_threads(1)
    return entries
