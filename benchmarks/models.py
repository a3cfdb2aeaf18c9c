"""Gradients of 8 networks at once, compared with 8 torch modules one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bench.base.registry import models
from bench.config.compose import compose_one
from benchmarks import plain
from benchmarks.clock import NODES, Entry, best, iteration_ms, on_stacked

BATCH, CLASSES, CONTEXT, VOCABULARY = 32, 10, 128, 90
COLORS, SIDE = 3, 32
DRAWN = ["dataset=planted", f"dataset.features={SIDE**2}", "dataset.square=true", "dataset.samples=1024"]


def residual(device: str) -> list[Entry]:
    """ResNet-20: gradients on images of the size of CIFAR-10, and steps of D-SGD on images of one color."""
    images = torch.randn(NODES, BATCH, COLORS, SIDE, SIDE, device=device)
    labels = torch.randint(CLASSES, (NODES, BATCH), device=device)
    nets = [plain.ResNet20(COLORS, CLASSES).to(device) for _ in range(NODES)]
    floor = seconds(lambda: one_by_one(nets, images, labels), device)
    entries: list[Entry] = [{"what": f"{device}: 8 plain passes", "ms": 1e3 * floor, "ratio": 1.0}]
    ms = 1e3 * seconds(at_once("resnet20", images, labels), device)
    entries.append({"what": f"{device}: 8 at once", "ms": ms, "ratio": ms / (1e3 * floor)})
    steps = 8 if device == "cpu" else 100
    words = [*DRAWN, "model=resnet20", "algo=dsgd", f"nodes={NODES}", f"batch_size={BATCH}", "eval_samples=32"]
    rest = [f"steps={steps}", f"eval_every={steps // 2}", "engine=stacked", f"device={device}", "dataset.tests=32"]
    ms = iteration_ms(on_stacked, compose_one([*words, *rest]))
    return [*entries, {"what": f"{device}: a step of D-SGD, one color", "ms": ms, "ratio": ms / (1e3 * floor)}]


def texts(device: str) -> list[Entry]:
    """Transformer: gradients on texts of 128 characters."""
    tokens = torch.randint(VOCABULARY, (NODES, BATCH, CONTEXT), device=device)
    nets = [plain.Transformer(CONTEXT, VOCABULARY).to(device) for _ in range(NODES)]
    floor = seconds(lambda: one_by_one(nets, tokens, tokens), device)
    ms = 1e3 * seconds(at_once("transformer", tokens, tokens), device)
    return [
        {"what": f"{device}: 8 plain passes", "ms": 1e3 * floor, "ratio": 1.0},
        {"what": f"{device}: 8 at once", "ms": ms, "ratio": ms / (1e3 * floor)},
    ]


def modules() -> list[Entry]:
    """The perceptron for a9a as model=mlp, and as a torch module (model=module)."""
    words = ["dataset=planted", "algo=dsgd", f"nodes={NODES}", "steps=600", "eval_every=300", "engine=stacked"]
    target = f"{plain.__name__}:{plain.Perceptron.__name__}"
    entries: list[Entry] = []
    for batch in (BATCH, 1):
        taken = {
            name: iteration_ms(on_stacked, compose_one([*words, f"batch_size={batch}", *chosen]))
            for name, chosen in {"mlp": ["model=mlp"], "module": ["model=module", f"model.target={target}"]}.items()
        }
        for name, ms in taken.items():
            what = f"model={name}, batch {batch}: a step of D-SGD"
            entries.append({"what": what, "ms": ms, "ratio": ms / taken["mlp"]})
    return entries


def at_once(name: str, inputs: Tensor, labels: Tensor) -> Callable[[], object]:
    model = models[name](tuple(inputs.shape[2:]), VOCABULARY if name == "transformer" else CLASSES)
    x = 0.05 * torch.randn(NODES, model.layout.size, device=inputs.device)

    def gradient() -> Tensor:
        out, pull = model.linearize(x, inputs)
        delta = torch.softmax(out, -1)
        return pull(delta.sub_(F.one_hot(labels, out.shape[-1])).div_(labels[0].numel()))

    return gradient


def one_by_one(nets: Sequence[nn.Module], inputs: Tensor, labels: Tensor) -> None:
    for net, x, y in zip(nets, inputs, labels, strict=True):
        net.zero_grad(set_to_none=True)
        F.cross_entropy(net(x).flatten(0, -2), y.flatten()).backward()


def seconds(function: Callable[[], Any], device: str) -> float:
    """Seconds per call after one warm-up call, with the device synchronized."""

    def done() -> None:
        function()
        if device == "cuda":
            torch.cuda.synchronize()

    done()
    return best(done, 1, rounds=3) if device == "cpu" else best(done, 5)
