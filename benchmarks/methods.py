"""Time per step of every method, relative to its gradients."""

from __future__ import annotations

import time

import torch

from bench.base.registry import algorithms
from bench.build.build import build_problem
from bench.build.network import properties_of
from bench.config.compose import compose_one
from bench.config.run_config import RunConfig
from bench.problem.problem import Setting
from benchmarks.clock import NODES, PERCEPTRON, Entry, Rows, on_stacked

ROUNDS = 5
"""Repetitions, in turn over all methods; the minimum counts, since other load on the machine varies."""


def methods(steps: int) -> list[Entry]:
    """Milliseconds per step, the ratio to the method's gradients, and the difference."""
    runs = {name: config_of(name, steps) for name in algorithms if not algorithms[name].properties.asynchronous}
    best: dict[str, float] = {}
    gradients: dict[str, float] = {}
    for _ in range(ROUNDS):
        for name, config in runs.items():
            gradients[config.dtype] = min(gradient_ms(config), gradients.get(config.dtype, float("inf")))
            best[name] = min(step_ms(config), best.get(name, float("inf")))
    entries: list[Entry] = [
        {"what": f"a gradient, {dtype}", "ms": ms, "ratio": 1.0, "beyond_ms": 0.0} for dtype, ms in gradients.items()
    ]
    for name, ms in sorted(best.items(), key=lambda pair: pair[0]):
        own = properties_of(runs[name]).gradients * gradients[runs[name].dtype]
        entries.append({"what": name, "ms": ms, "ratio": ms / own, "beyond_ms": ms - own})
    return entries


def config_of(name: str, steps: int) -> RunConfig:
    """Return a run on a lazy ring, or with the exact average if the method needs it."""
    properties = algorithms[name].declare_for({})
    where = ["topology=all_reduce"] if properties.exact_average else ["topology=ring", "topology.lazy=true"]
    words = [*PERCEPTRON, *where, f"nodes={NODES}", f"steps={steps}", f"eval_every={steps // 2}", "engine=stacked"]
    return compose_one([f"algo={name}", *words, f"dtype={'float64' if properties.requires_float64 else 'float32'}"])


def step_ms(config: RunConfig) -> float:
    """Milliseconds of computation and communication per step in the second half of a run."""
    recorded = Rows()
    on_stacked(config, recorded)
    spent = [row["compute_s"] + row["comm_s"] for row in recorded.rows]
    return 1e3 * (spent[-1] - spent[-2]) / (recorded.rows[-1]["step"] - recorded.rows[-2]["step"])


def gradient_ms(config: RunConfig) -> float:
    """Milliseconds of one gradient of all nodes, including the sampling."""
    setting = Setting(
        config.nodes,
        range(config.nodes),
        (config.seed,),
        config.batch_size,
        getattr(torch, config.dtype),
        torch.device("cpu"),
    )
    problem = build_problem(config, setting)
    with torch.inference_mode():
        x = problem.start()
        problem.grad(x, 0)
        count = config.steps // 2
        began = time.perf_counter()
        for s in range(count):
            problem.grad(x, s)
        return 1e3 * (time.perf_counter() - began) / count
