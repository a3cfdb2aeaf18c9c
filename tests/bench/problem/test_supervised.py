"""Stacked models and sharded data against plain PyTorch, one node at a time."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.base.errors import UserError
from bench.base.randomness import EVERYONE, generator
from bench.base.registry import models, partitions
from bench.build.build import build_problem
from bench.build.material import load_arrays, shards
from bench.engine import stacked
from bench.models.model import Model
from bench.problem.problem import Setting
from bench.problem.rows import without_replacement
from bench.training.hosting import OneProcess
from bench.training.metrics import heterogeneity
from tests.helpers.configs import Kept, config, rows

DIGITS = {"dataset": "digits", "batch_size": 4, "nodes": 7}


def make(model: str = "mlp", seeds=(0,), hosted: range = range(7), dtype=torch.float64, **changes):
    c = config(**{**DIGITS, "model": model, **changes})
    return build_problem(c, Setting(7, hosted, tuple(seeds), 4, dtype, torch.device("cpu")))


def plain(model: str, x: torch.Tensor) -> torch.nn.Module:
    """The same network as an ordinary module, with the parameters x."""
    if model == "linear":
        net = torch.nn.Sequential(torch.nn.Linear(64, 10))
    else:
        net = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Tanh(), torch.nn.Linear(64, 10))
    net = net.double()
    start = 0
    for layer in net:
        if isinstance(layer, torch.nn.Linear):
            size = layer.in_features * layer.out_features
            layer.weight.data = x[start : start + size].view(layer.in_features, layer.out_features).T.clone()
            layer.bias.data = x[start + size : start + size + layer.out_features].clone()
            start += size + layer.out_features
    assert start == len(x)
    return net


def loss_and_gradient(model: str, x: torch.Tensor, inputs: np.ndarray, labels: np.ndarray):
    net = plain(model, x)
    pixels = (torch.as_tensor(inputs, dtype=torch.float64).flatten(1) - 4.893) / 6.023
    logits = net(pixels)
    loss = torch.nn.functional.cross_entropy(logits, torch.as_tensor(labels))
    loss.backward()
    parts = [
        p.flatten()
        for layer in net
        if isinstance(layer, torch.nn.Linear)
        for p in (layer.weight.grad.T, layer.bias.grad)
    ]
    return loss.detach(), torch.cat(parts), logits.detach()


@pytest.mark.parametrize("gather", [0, 1 << 24])
@pytest.mark.parametrize("partition", ["even", "iid"])
@pytest.mark.parametrize("model", ["linear", "mlp"])
def test_gradients_are_those_of_plain_networks_on_the_keyed_batches(model, partition, gather, monkeypatch):
    monkeypatch.setattr("bench.problem.supervised.GATHER", gather)  # a block at a time, or step by step
    f = make(model, seeds=(5, 9), partition=partition)
    arrays = load_arrays(config(**DIGITS))
    x = 0.3 * torch.randn(2, 7, f.layout.size, dtype=torch.float64)
    for s in (0, 3, 64):
        g = f.grad(x, s)
        for r, seed in enumerate((5, 9)):
            split = shards(config(**DIGITS, partition=partition), seed)
            for i in range(7):
                picks = generator(seed, i, "batch 0", s // 64).integers(len(split[i]), size=(64, 4))[s % 64]
                batch = split[i][picks]
                _, expected, _ = loss_and_gradient(model, x[r, i], arrays.train_x[batch], arrays.train_y[batch])
                assert torch.allclose(g[r, i], expected, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("model", ["linear", "mlp"])
def test_evaluation_is_node_weighted_over_uneven_shards(model):
    """f is the mean over nodes of their means: with 1438 samples on 7 nodes that is not the pooled mean."""
    f = make(model)
    arrays = load_arrays(config(**DIGITS))
    point = 0.3 * torch.randn(1, f.layout.size, dtype=torch.float64)
    split = np.array_split(np.arange(len(arrays.train_y)), 7)
    each = [loss_and_gradient(model, point[0], arrays.train_x[rows], arrays.train_y[rows]) for rows in split]
    e = f.evaluate(point)
    node_mean = sum(loss for loss, _, _ in each) / 7
    assert e.train_loss[0].item() == pytest.approx(node_mean.item(), rel=1e-12)
    assert torch.allclose(e.gradient[0], sum(g for _, g, _ in each) / 7, rtol=1e-9, atol=1e-13)
    pooled, _, _ = loss_and_gradient(model, point[0], arrays.train_x, arrays.train_y)
    assert abs(e.train_loss[0].item() - pooled.item()) > 1e-8
    test_loss, _, logits = loss_and_gradient(model, point[0], arrays.test_x, arrays.test_y)
    assert e.test_loss[0].item() == pytest.approx(test_loss.item(), rel=1e-12)
    right = (logits.argmax(1).numpy() == arrays.test_y).mean()
    assert e.test_correct[0].item() == pytest.approx(right, rel=1e-12)


def test_shares_of_processes_add_up():
    whole = make(seeds=(1, 2), partition="iid")
    parts = [make(seeds=(1, 2), partition="iid", hosted=hosted) for hosted in (range(3), range(3, 4), range(4, 7))]
    x = 0.3 * torch.randn(2, 7, whole.layout.size, dtype=torch.float64)
    split = [p.grad(x[:, list(p.setting.hosted)], 70, 1) for p in parts]
    assert torch.allclose(torch.cat(split, dim=1), whole.grad(x, 70, 1), rtol=1e-11, atol=1e-14)
    total = sum(p.evaluate(x.mean(1)).flat() for p in parts)
    assert torch.allclose(total, whole.evaluate(x.mean(1)).flat(), rtol=1e-10, atol=1e-14)


def test_shared_and_independent_starts():
    shared, own = make(seeds=(1, 2, 1)).start(), make(seeds=(1, 2, 1), init="independent").start()
    assert shared.shape == own.shape == (3, 7, 4810)
    assert torch.equal(shared[:, 0], shared[:, 6])
    assert torch.equal(shared[0], shared[2])
    assert torch.equal(own[0], own[2])
    assert not torch.equal(shared[0], shared[1])
    assert len({tuple(row.tolist()) for row in own[:2].flatten(0, 1)}) == 14
    expected = models["mlp"]((8, 8), 10).initial(generator(2, EVERYONE, "init"))
    assert shared[1, 3].tolist() == expected.tolist()


@pytest.mark.parametrize(("name", "inputs"), [("linear", (8, 8)), ("mlp", (8, 8)), ("lenet", (3, 19, 16))])
def test_gradients_written_out_are_those_of_autograd(name, inputs):
    model = models[name](inputs, 10)
    x = torch.randn(5, model.layout.size, dtype=torch.float64)
    own = torch.randn(5, 6, *inputs, dtype=torch.float64)
    shared = own[0].expand(5, *own.shape[1:])
    delta = torch.randn(5, 6, 10, dtype=torch.float64)
    for images in (own, shared):
        (logits, pull), (expected, autograd) = model.linearize(x, images), Model.linearize(model, x, images)
        assert torch.equal(logits, expected)
        assert torch.allclose(pull(delta), autograd(delta), rtol=1e-11, atol=1e-12)


def plain_lenet(x: torch.Tensor) -> torch.nn.Module:
    nn = torch.nn
    net = nn.Sequential(
        *(nn.Conv2d(1, 6, 5), nn.Tanh(), nn.MaxPool2d(2)),
        *(nn.Conv2d(6, 16, 5), nn.Tanh(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(256, 84), nn.Tanh(), nn.Linear(84, 10)),
    ).double()
    with torch.no_grad():
        for parameter in net.parameters():
            part, x = x[: parameter.numel()], x[parameter.numel() :]
            parameter.copy_(part.view(parameter.T.shape).T if parameter.dim() == 2 else part.view(parameter.shape))
    assert len(x) == 0
    return net


def test_lenet_is_the_papers_network():
    """Against torch.nn, on images with blank parts, where many values of a pooling window are equal."""
    model = models["lenet"]((28, 28), 10)
    g = generator(0, 0, "test")
    x = torch.as_tensor(np.stack([model.initial(g) for _ in range(3)]))
    images = torch.as_tensor(g.random((3, 4, 28, 28)))
    images[:, :, :14] = 0
    labels = torch.as_tensor(g.integers(10, size=(3, 4)))
    logits, pull = model.linearize(x, images)
    delta = (torch.softmax(logits, -1) - torch.eye(10, dtype=torch.float64)[labels]) / 4
    gradient = pull(delta)
    for m in range(3):
        net = plain_lenet(x[m])
        out = net(images[m].unsqueeze(1))
        assert torch.allclose(out, logits[m], rtol=1e-12)
        torch.nn.functional.cross_entropy(out, labels[m]).backward()
        expected = [p.grad.T.flatten() if p.dim() == 2 else p.grad.flatten() for p in net.parameters()]
        assert torch.allclose(gradient[m], torch.cat(expected), rtol=1e-10, atol=1e-15)


def test_lenet_rejects_small_images():
    with pytest.raises(UserError, match=r"model=lenet .*16×16.*\(8, 8\)"):
        models["lenet"]((8, 8), 10)


def test_evaluating_in_pieces_changes_nothing(monkeypatch):
    point = 0.3 * torch.randn(2, 4810, dtype=torch.float64)
    whole = make(seeds=(1, 2), partition="iid").evaluate(point).flat()
    monkeypatch.setattr("bench.problem.supervised.pieces", lambda device, floats: 77)
    assert torch.allclose(make(seeds=(1, 2), partition="iid").evaluate(point).flat(), whole, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("partition", ["even", "dirichlet"])
def test_heterogeneity_is_the_spread_of_the_nodes_gradients(partition):
    f = make(seeds=(1, 2, 1), partition=partition, nodes=7)
    x = f.start()
    arrays = load_arrays(config(**DIGITS))
    measured = heterogeneity(x, f, OneProcess(7, lambda r, tensors: tensors))
    for r, seed in enumerate((1, 2, 1)):
        split = shards(config(**{**DIGITS, "partition": partition}), seed)
        each = [loss_and_gradient("mlp", x[r, 0], arrays.train_x[s], arrays.train_y[s])[1] for s in split]
        mean = sum(each) / 7
        assert measured[r] == pytest.approx(sum((g - mean).square().sum().item() for g in each) / 7, rel=1e-9)


def test_a_stream_is_homogeneous_and_quadratics_are_not():
    kept = Kept(2)
    stacked.run([config(steps=1), config(steps=1, seed=4)], kept)
    assert [facts["heterogeneity"] for facts in kept.facts] == pytest.approx([0, 0], abs=1e-12)
    stacked.run(
        [config(dataset="quadratics", steps=1, scale=3.0), config(dataset="quadratics", steps=1, seed=4, scale=3.0)],
        kept,
    )
    f = build_problem(config(dataset="quadratics"), Setting(6, range(6), (4,), 2, torch.float64, torch.device("cpu")))
    each = f.grad(f.start(), 0)[0] * 3
    assert kept.facts[1]["heterogeneity"] == pytest.approx((each - each.mean(0)).square().sum().item() / 6)


@given(st.integers(1, 50), st.integers(1, 20), st.integers(0, 6))
@settings(max_examples=50, deadline=None)
def test_epochs_visit_every_sample_once_in_a_new_order(samples, batch, stream):
    blocks = [without_replacement(3, 1, stream, b, samples, batch) for b in range(1 + 3 * samples // (64 * batch))]
    walk = np.concatenate([block.ravel() for block in blocks])
    for epoch in range(len(walk) // samples):
        assert sorted(walk[epoch * samples : (epoch + 1) * samples]) == list(range(samples))
    if samples > 20 and len(walk) >= 2 * samples:
        assert walk[:samples].tolist() != walk[samples : 2 * samples].tolist()


def test_sampling_by_epochs_is_another_run():
    one, other = config(**DIGITS, model="linear"), config(**DIGITS, model="linear", sampling="epochs")
    assert one.run_id != other.run_id
    (a,), (b,) = rows(one), rows(other)
    assert a[0]["train_loss"] == b[0]["train_loss"]
    assert a[-1]["train_loss"] != b[-1]["train_loss"]
    assert b[-1]["test_accuracy"] > 20


def test_the_default_initialization():
    model = models["mlp"]((8, 8), 10, hidden=50)
    x = torch.as_tensor(model.initial(generator(0, 0, "init")))[None]
    for name, tensor in model.unpack(x).items():
        bound = 1 / (64 if name.startswith("hidden") else 50) ** 0.5
        assert tensor.abs().max() <= bound
        assert tensor.abs().max() > 0.7 * bound
    assert tensor.shape == (1, 10)


def test_epochs_and_accuracy_are_counted():
    (measured,) = rows(config(**DIGITS, model="linear", steps=40))
    assert measured[-1]["epoch"] == pytest.approx(40 * 4 * 7 / 1438)
    assert measured[-1]["test_accuracy"] > measured[0]["test_accuracy"]
    assert 20 < measured[-1]["test_accuracy"] <= 100


def test_logits_that_are_not_finite_give_no_accuracy():
    """argmax of NaN is class 0: it must not count as right."""
    wild = {"name": "dsgd", "schedule": "constant", "eta": 1e38}
    (measured,) = rows(config(**DIGITS, model="mlp", dtype="float32", algo=wild, eval_every=1))
    assert measured[-1]["test_accuracy"] is None
    assert measured[-1]["step"] < 40
    f = make("linear", dtype=torch.float32)
    x = torch.zeros(1, f.layout.size)
    x[0, 3] = float("nan")
    assert not torch.isfinite(f.evaluate(x).test_correct).any()


@given(st.sampled_from(list(partitions)), st.integers(1, 30), st.integers(60, 300), st.integers(0, 10**9))
@settings(max_examples=100, deadline=None)
def test_a_partition_puts_every_sample_on_one_node(name, nodes, samples, seed):
    labels = np.arange(samples) % 7
    split = partitions[name](labels, nodes, generator(seed, EVERYONE, "partition"))
    assert len(split) == nodes
    assert sorted(np.concatenate(split).tolist()) == list(range(samples))
    sizes = [len(rows) for rows in split]
    assert min(sizes) >= 1
    if name in ("even", "iid"):
        assert max(sizes) - min(sizes) <= 1
    again = partitions[name](labels, nodes, generator(seed, EVERYONE, "partition"))
    assert all(np.array_equal(a, b) for a, b in zip(split, again, strict=True))


def test_partitions_by_label_are_skewed():
    labels = np.random.default_rng(0).integers(10, size=5000)
    classes = lambda split: np.stack([np.bincount(labels[rows], minlength=10) for rows in split])  # noqa: E731
    draw = lambda: generator(0, EVERYONE, "partition")  # noqa: E731
    assert (classes(partitions["by_label"](labels, 10, draw(), pieces=1)) > 0).sum(axis=1).max() <= 3
    assert classes(partitions["iid"](labels, 10, draw())).min() > 20
    skewed = classes(partitions["dirichlet"](labels, 10, draw(), alpha=0.1)).max(axis=1).sum()
    mild = classes(partitions["dirichlet"](labels, 10, draw(), alpha=100.0)).max(axis=1).sum()
    assert skewed > 3 * mild / 2
    sizes = [len(rows) for rows in partitions["quantity"](labels, 10, draw(), alpha=0.3)]
    assert max(sizes) > 5 * min(sizes)
    with pytest.raises(UserError, match="5000"):
        partitions["by_label"](labels, 100, draw(), pieces=60)
