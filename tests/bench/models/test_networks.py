"""Networks for many models at once against ordinary modules, one model at a time."""

import numpy as np
import pytest
import torch
from torch import nn

from bench.base.errors import UserError
from bench.base.randomness import generator
from bench.base.registry import datasets, models
from bench.models import layers, lenet
from bench.models.measured import Alive
from bench.models.model import Model
from bench.problem import Arrays
from benchmarks import plain
from tests.helpers.cli import refused, typed
from tests.helpers.configs import config, rows

TEXT, VOCABULARY = 7, 11
NETWORKS = {
    "resnet20": ((3, 9, 8), {"width": 4}, lambda: plain.ResNet20(3, 10, width=4)),
    "cnn": ((2, 9, 12), {"channels": 3, "hidden": 6}, lambda: plain.cnn((2, 9, 12), 10, 3, 6)),
    "transformer": ((TEXT,), {"width": 8, "heads": 2}, lambda: plain.Transformer(TEXT, VOCABULARY, 2, 8, 2)),
}
DEAR = [pytest.param(name, marks=[pytest.mark.thorough] * (name == "resnet20")) for name in NETWORKS]


def small(name: str) -> Model:
    inputs, options, _ = NETWORKS[name]
    return models[name](inputs, VOCABULARY if name == "transformer" else 10, **options)


def drawn(name: str, m: int, batch: int = 4) -> tuple[torch.Tensor, torch.Tensor]:
    """Parameters (m, P) in general position, and inputs."""
    model, g = small(name), generator(0, 0, "test")
    x = np.stack([model.initial(g) + 0.1 * g.standard_normal(model.layout.size) for _ in range(m)])
    if name == "transformer":
        return torch.as_tensor(x), torch.as_tensor(g.integers(VOCABULARY, size=(m, batch, TEXT)))
    return torch.as_tensor(x), torch.as_tensor(g.standard_normal((m, batch, *NETWORKS[name][0])))


def alone(name: str, x: torch.Tensor) -> tuple[nn.Module, list[nn.Parameter], list[bool]]:
    """The ordinary module with parameters x, its parameters, and which of them are the transpose of ours."""
    net = NETWORKS[name][2]().double()
    owners = [(module, p) for module in net.modules() for p in module.parameters(recurse=False)]
    turned = {id(p): isinstance(module, nn.Linear) and p.dim() == 2 for module, p in owners}
    for p, part in zip(net.parameters(), x.split([p.numel() for p in net.parameters()]), strict=True):
        p.data = part.view(p.T.shape).T.clone() if turned[id(p)] else part.view(p.shape).clone()
    return net, list(net.parameters()), [turned[id(p)] for p in net.parameters()]


@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("name", DEAR)
def test_many_models_at_once_are_ordinary_modules(name, m):
    x, inputs = drawn(name, m)
    out, pull = small(name).linearize(x, inputs)
    delta = torch.as_tensor(generator(0, 0, "delta").standard_normal(out.shape))
    gradient = pull(delta)
    for i in range(m):
        net, parameters, turned = alone(name, x[i])
        expected = net(inputs[i])
        assert torch.allclose(out[i], expected, rtol=1e-9, atol=1e-12)
        found = torch.autograd.grad(expected, parameters, delta[i])
        flat = torch.cat([(g.T if turn else g).flatten() for g, turn in zip(found, turned, strict=True)])
        assert torch.allclose(gradient[i], flat, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("inputs", [(28, 28), (3, 17, 20)])
def test_both_convolutions_of_lenet_have_equal_outputs_and_gradients(monkeypatch, inputs, m, shared):
    model, g = models["lenet"](inputs, 10), generator(0, 0, "test")
    x = torch.as_tensor(np.stack([model.initial(g) + 0.1 * g.standard_normal(model.layout.size) for _ in range(m)]))
    images = torch.as_tensor(g.standard_normal((1 if shared else m, 4, *inputs))).round()  # rounded: ties in windows
    images = images.expand(m, *images.shape[1:])
    delta = torch.as_tensor(g.standard_normal((m, 4, 10)))
    found = []
    for kind in (lenet.Convolution, lenet.RowConvolution):
        monkeypatch.setattr(lenet, "Convolution", kind)
        out, pull = model.linearize(x, images)
        found.append((out, pull(delta), model.forward(model.unpack(x), images)))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(other, one, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize(("stride", "padding"), [(1, 1), (2, 0)])
def test_a_grouped_convolution_is_one_of_each_model(stride, padding):
    g = torch.Generator().manual_seed(0)
    images = torch.randn(5, 3 * 2, 7, 6, dtype=torch.float64, generator=g, requires_grad=True)
    kernels = torch.randn(3, 4, 2, 3, 3, dtype=torch.float64, generator=g, requires_grad=True)
    out = layers.conv(images, kernels, stride=stride, padding=padding)
    each = zip(images.split(2, dim=1), kernels, strict=True)
    expected = torch.cat([nn.functional.conv2d(x, k, stride=stride, padding=padding) for x, k in each], dim=1)
    assert torch.allclose(out, expected, rtol=1e-12, atol=1e-12)
    delta = torch.randn(out.shape, dtype=torch.float64, generator=g)
    pairs = zip(*(torch.autograd.grad(y, (images, kernels), delta) for y in (out, expected)), strict=True)
    assert all(torch.allclose(a, b, rtol=1e-12, atol=1e-12) for a, b in pairs)


def test_networks_have_the_sizes_of_their_papers():
    """ResNet-20 without parameters in its shortcuts, FedAvg's network for MNIST, and a transformer counted by hand."""
    assert models["resnet20"]((3, 32, 32), 10).layout.size == 269722
    assert models["cnn"]((28, 28), 10).layout.size == 1663370
    layer = 12 * 128**2 + (3 + 1 + 4 + 1) * 128 + 2 * 2 * 128
    assert models["transformer"]((128,), 90).layout.size == (90 + 128) * 128 + 2 * layer + 2 * 128 + 128 * 90 + 90


@pytest.mark.parametrize("name", DEAR)
def test_the_numbers_kept_for_a_sample_are_about_those_counted(name):
    """What one more sample adds to the most that a gradient holds at once."""
    inputs = {"resnet20": (3, 16, 16), "cnn": (28, 28), "transformer": (64,)}[name]
    model = models[name](inputs, 50, **({"hidden": 8} if name == "cnn" else {}))
    x, peaks = torch.zeros(1, model.layout.size), []
    for count in (16, 32):
        some = torch.zeros(1, count, *inputs, dtype=torch.long if name == "transformer" else torch.float32)
        model.linearize(x, some)  # tracing is not counted
        with Alive() as alive:
            out, pull = model.linearize(x, some)
            pull(torch.ones_like(out))
        peaks.append(alive.peak)
    assert (peaks[1] - peaks[0]) / (16 * 4) == pytest.approx(model.floats, rel=0.15)


def test_initializations_are_those_of_the_papers():
    model = models["resnet20"]((3, 32, 32), 10)
    p = model.unpack(torch.as_tensor(model.initial(generator(0, 0, "init")))[None])
    for name, tensor in p.items():
        if name.endswith("conv.weight"):
            assert tensor.std().item() == pytest.approx((2 / (9 * tensor.shape[1])) ** 0.5, rel=0.1)
        elif name != "out.weight":
            assert (tensor == (1.0 if name.endswith("norm.weight") else 0.0)).all()
    model = models["transformer"]((64,), 90)
    p = model.unpack(torch.as_tensor(model.initial(generator(0, 0, "init")))[None])
    assert p["token.table"].std().item() == pytest.approx(0.02, rel=0.05)
    assert p["layer2.narrow.weight"].std().item() == pytest.approx(0.01, rel=0.05)
    assert (p["norm.weight"] == 1).all()
    assert (p["layer1.qkv.bias"] == 0).all()


def test_the_transformer_is_causal():
    x, text = drawn("transformer", 2)
    model = small("transformer")
    out = model.forward(model.unpack(x), text)
    for place in range(TEXT):
        other = text.clone()
        other[..., place] = (other[..., place] + 1) % VOCABULARY
        changed = model.forward(model.unpack(x), other)
        assert torch.equal(changed[:, :, :place], out[:, :, :place])
        assert (changed[:, :, place:] - out[:, :, place:]).abs().amax(dim=(0, 1, 3)).min() > 1e-6


@pytest.mark.parametrize(
    ("name", "inputs", "options", "values"),
    [
        ("resnet20", (3, 3, 8), {}, r"model=resnet20 .*4×4.*\(3, 3, 8\)"),
        ("resnet20", (54,), {}, r"model=resnet20 .*\(54,\)"),
        ("resnet20", (3, 8, 8), {"groups": 3}, "model.groups .*model.width=16.* 3"),
        ("cnn", (3, 8, 2), {}, r"model=cnn .*4×4.*\(3, 8, 2\)"),
        ("transformer", (3, 8, 8), {}, r"model=transformer .*\(3, 8, 8\)"),
        ("transformer", (8,), {"heads": 3}, "model.heads .*model.width=128.* 3"),
    ],
)
def test_rejects_invalid_inputs_and_options(name, inputs, options, values):
    with pytest.raises(UserError, match=values):
        models[name](inputs, 10, **options)


def test_rejects_tokens_beyond_the_vocabulary():
    x, text = drawn("transformer", 2)
    text[0, 1, 2] = VOCABULARY
    model = small("transformer")
    with pytest.raises(UserError, match=r"0 … 10.* 11"):
        model.forward(model.unpack(x), text)
    with pytest.raises(UserError, match=" 11"):
        model.refuse(text[0, :2])


@pytest.mark.parametrize("where", ["train_x", "test_x"])
def test_the_rarest_token_is_found_before_the_first_step(where):
    """On a GPU it would end the process in the middle of a step."""
    parts = {name: np.arange(90).reshape(-1, 3) % 10 for name in ("train_x", "train_y", "test_x", "test_y")}
    good = Arrays(**parts, classes=10, tokens=True)
    assert good.examples().tolist() == [[9, 0, 1], [0, 1, 2]]
    model = models["transformer"]((3,), 10, width=4, heads=1)
    model.refuse(torch.as_tensor(good.examples()))
    parts[where][17, 1] = 10
    with pytest.raises(UserError, match=" 10"):
        model.refuse(torch.as_tensor(Arrays(**parts, classes=10, tokens=True).examples()))


@pytest.mark.thorough
def test_a_transformer_learns_a_text(monkeypatch):
    """What stands at a place is what stood before it plus one: two places tell all."""
    texts = (np.arange(64)[:, None] + np.arange(TEXT + 1)) % VOCABULARY
    arrays = Arrays(texts[:, :-1], texts[:, 1:], texts[:8, :-1], texts[:8, 1:], VOCABULARY, tokens=True)
    monkeypatch.setitem(datasets._items, "counting", lambda: arrays)
    small_one = {"name": "transformer", "layers": 1, "width": 16, "heads": 2}
    algo = {"name": "dsgdm", "schedule": "constant", "eta": 0.3}
    (found,) = rows(config(dataset="counting", model=small_one, algo=algo, nodes=2, steps=100, eval_every=100))
    assert found[0]["test_bits"] == pytest.approx(np.log2(VOCABULARY), rel=0.02)
    assert found[-1]["test_bits"] < 0.5 * found[0]["test_bits"]


@pytest.mark.thorough
def test_from_the_command_line(tmp_path):
    common = "dataset=digits algo=dsgd nodes=2 steps=1 batch_size=4 eval_samples=8 engine=stacked tracker=none"
    refused(f"{common} model=transformer", "tokens", tmp_path)
    done = typed("-m", "model=resnet20,cnn", *common.split(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
