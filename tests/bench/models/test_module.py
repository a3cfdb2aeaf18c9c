"""Modules of the user against plain PyTorch, and rejected modules."""

import json
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from bench.base.errors import UserError
from bench.base.randomness import EVERYONE, generator
from bench.base.registry import models
from bench.build.build import build_problem, model_notes, start_summary
from bench.build.fingerprint import chosen, sources
from bench.build.material import load_arrays
from bench.engine import stacked
from bench.models import torch_model
from bench.models.measured import floats_per_sample
from bench.models.module import Wrapped, keyed
from bench.problem.arrays import Arrays
from bench.problem.problem import Setting
from bench.sweep.preflight import check
from tests.helpers import nets
from tests.helpers.cli import ROOT, typed
from tests.helpers.configs import Kept, config, rows
from tests.helpers.mentions import mentions

NET = {"name": "module", "target": "tests.helpers.nets:Net", "kwargs": {"width": 12}}
ALONE = {"dataset": "digits", "nodes": 1, "topology": "alone", "batch_size": 8, "algo": "dsgd"}


def start(g: np.random.Generator) -> nets.Net:
    with keyed(int(g.integers(1 << 63))):
        return nets.Net((8, 8), 10, width=12)


@pytest.mark.parametrize(("dtype", "close"), [("float32", 1e-6), ("float64", 1e-10)])
def test_twenty_steps_on_one_node_are_those_of_plain_pytorch(dtype, close):
    """The same start, batches and stepsizes: an ordinary training loop with torch.optim.SGD."""
    algo = {"name": "dsgd", "eta": 0.05, "schedule": "constant"}
    c = config(**{**ALONE, "algo": algo, "topology": "complete"}, model=NET, dtype=dtype, steps=20, eval_every=20)
    last = rows(c)[0][-1]
    kind = getattr(torch, dtype)
    net = start(generator(0, EVERYONE, "init")).to(kind).eval()
    arrays, step = load_arrays(c), torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.05)
    x = (torch.as_tensor(arrays.train_x, dtype=kind) - arrays.mean) / arrays.sd
    y = torch.as_tensor(arrays.train_y)
    for s in range(20):
        batch = generator(0, 0, "batch 0", 0).integers(len(y), size=(64, 8))[s]
        step.zero_grad()
        torch.nn.functional.cross_entropy(net(x[batch]), y[batch]).backward()
        step.step()
    net.zero_grad()
    loss = torch.nn.functional.cross_entropy(net(x), y)
    loss.backward()
    squares = sum(p.grad.double().square().sum() for p in net.parameters() if p.requires_grad)
    assert last["train_loss"] == pytest.approx(loss.item(), rel=close)
    assert last["stationarity"] == pytest.approx(float(squares), rel=20 * close)


def test_nodes_and_replicas_are_independent():
    setting = Setting(7, range(7), (3, 4), 4, torch.float64, torch.device("cpu"))
    f = build_problem(config(dataset="digits", batch_size=4, nodes=7, model=NET), setting)
    x = 0.3 * torch.randn(2, 7, f.layout.size, dtype=torch.float64)
    together = f.grad(x, 5)
    for i in (0, 6):
        alone = Setting(7, range(i, i + 1), (3, 4), 4, torch.float64, torch.device("cpu"))
        one = build_problem(config(dataset="digits", batch_size=4, nodes=7, model=NET), alone)
        assert torch.allclose(one.grad(x[:, i : i + 1], 5)[:, 0], together[:, i], rtol=1e-10, atol=1e-14)


def test_the_perceptron_as_a_module_is_the_one_written_out():
    target = {"name": "module", "target": "benchmarks.plain:Perceptron"}
    setting = Setting(3, range(3), (0,), 4, torch.float64, torch.device("cpu"))
    ours, theirs = (build_problem(config(dataset="digits", nodes=3, model=m), setting) for m in ("mlp", target))
    x = 0.3 * torch.randn(1, 3, ours.layout.size, dtype=torch.float64)

    def turned(flat: torch.Tensor) -> torch.Tensor:
        """torch has weights as (out, in), the written-out model as (in, out)."""
        parts = flat.split(ours.layout.sizes, dim=-1)
        shapes = list(ours.layout.shapes.values())
        shaped = [p.unflatten(-1, s).mT.flatten(-2) if len(s) == 2 else p for p, s in zip(parts, shapes, strict=True)]
        return torch.cat(shaped, dim=-1)

    assert torch.allclose(theirs.grad(turned(x), 2), turned(ours.grad(x, 2)), rtol=1e-10, atol=1e-14)


def test_the_pullback_accepts_any_strides():
    net = Wrapped("net", lambda: nets.Net((8, 8), 10, 12))
    x, inputs = torch.randn(2, net.layout.size, dtype=torch.float64), torch.randn(2, 3, 8, 8, dtype=torch.float64)
    out, pull = net.linearize(x, inputs)
    one = torch.randn(2, 1, 10, dtype=torch.float64)
    assert torch.equal(pull(one.expand(2, 3, 10)), pull(one.repeat(1, 3, 1)))
    turned = torch.randn(2, 10, 3, dtype=torch.float64).mT
    assert torch.equal(pull(turned), pull(turned.contiguous()))
    assert out.shape == (2, 3, 10)


ODD = [("Recurrent", {"kind": kind}) for kind in ("LSTM", "GRU", "RNN")] + [("Branching", {})]


@pytest.mark.parametrize(("name", "kwargs"), ODD)
def test_a_module_that_cannot_be_batched_is_computed_node_by_node(name, kwargs):
    """7 nodes and 2 seeds in one process, each as plain PyTorch has it."""
    c = config(
        dataset="digits",
        nodes=7,
        batch_size=4,
        model={"name": "module", "target": f"tests.helpers.nets:{name}", "kwargs": kwargs},
    )
    f = build_problem(c, Setting(7, range(7), (3, 4), 4, torch.float64, torch.device("cpu")))
    x = 0.5 * torch.randn(2, 7, f.layout.size, dtype=torch.float64)
    found = f.grad(x, 5)
    block, at = f._blocks.at(5, 0)
    inputs, labels = block.ready[0][at], block.ready[1][at]
    for r, i in ((0, 0), (0, 6), (1, 3)):
        net = f._model._make().double()
        torch.nn.utils.vector_to_parameters(x[r, i], net.parameters())
        torch.nn.functional.cross_entropy(net(inputs[r, i]), labels[r, i]).backward()
        parts = [torch.zeros_like(p) if p.grad is None else p.grad for p in net.parameters()]
        assert torch.allclose(found[r, i], torch.cat([p.flatten() for p in parts]), rtol=1e-12, atol=1e-14)
    (line,) = f._model.notes
    assert mentions(line, f"nets:{name} ", "torch.vmap")


def test_node_by_node_and_batched_are_the_same_numbers():
    net = Wrapped("net", lambda: nets.Net((8, 8), 10, 12))
    x, inputs = torch.randn(5, net.layout.size, dtype=torch.float64), torch.randn(5, 3, 8, 8, dtype=torch.float64)
    delta = torch.randn(5, 3, 10, dtype=torch.float64)
    found = []
    for net.batched in (True, False):
        out, pull = net.linearize(x, inputs)
        found.append((out, pull(delta)))
    for one, other in zip(*found, strict=True):
        assert torch.allclose(one, other, rtol=1e-12, atol=1e-12)
    net.refuse(inputs[0, :2])
    assert net.batched


def test_submodules_and_weights_may_have_two_names():
    net = Wrapped("net", lambda: nets.Twice((8, 8), 10))
    before = {name: value.clone() for name, value in net.module.double().named_parameters()}
    inputs = torch.randn(2, 3, 8, 8, dtype=torch.float64)
    net.refuse(inputs[0])
    points = torch.as_tensor(np.stack([net.initial(np.random.default_rng(seed)) for seed in (0, 1)]))
    outputs, pull = net.linearize(points, inputs)
    found = pull(torch.ones_like(outputs))
    for node, point in enumerate(points):
        plain = nets.Twice((8, 8), 10).double()
        torch.nn.utils.vector_to_parameters(point, plain.parameters())
        expected = plain(inputs[node])
        expected.sum().backward()
        assert torch.allclose(outputs[node], expected, rtol=1e-12)
        assert torch.allclose(found[node], torch.cat([p.grad.flatten() for p in plain.parameters()]), rtol=1e-12)
    assert net.batched
    assert all(torch.equal(value, before[name]) for name, value in net.module.named_parameters())


def test_notes_report_disabled_dropout():
    def said(make: Callable[[], torch.nn.Module]) -> str:
        net = Wrapped("net", make)
        net.refuse(torch.randn(2, 8, 8, dtype=torch.float64))
        return " ".join(net.notes)

    assert "has dropout" in said(lambda: nets.Net((8, 8), 10, 12))  # by what forward does
    assert "has dropout" in said(lambda: nets.Recurrent((8, 8), 10, "GRU", 0.5))
    layers = torch.nn.Flatten, lambda: torch.nn.Dropout(1e-9), lambda: torch.nn.Linear(64, 10)
    assert "has dropout" in said(lambda: torch.nn.Sequential(*(layer() for layer in layers)))  # by its name
    assert said(lambda: torch.nn.Sequential(layers[0](), layers[2]())) == ""


def test_notes_report_parameters_without_a_gradient():
    for kind in ("detached", "unused"):
        net = Wrapped("net", lambda kind=kind: nets.Idle(10, kind))
        net.refuse(torch.randn(2, 8, 8, dtype=torch.float64))
        (line,) = net.notes
        assert mentions(line, "net", "first.weight", "first.bias")
        assert "out.weight" not in line


@pytest.mark.parametrize(("log", "count"), [(False, 1), (True, 0)])
def test_notes_report_probabilities_before_a_softmax(log, count):
    net = {"name": "module", "target": "tests.helpers.nets:Probabilities", "kwargs": {"log": log}}
    notes = model_notes(config(dataset="digits", model=net))
    assert len(notes) == count
    assert all(mentions(line, "model=module", "softmax") for line in notes)


@pytest.mark.thorough
def test_an_lstm_on_four_nodes_of_one_process_is_that_on_ranks_of_one_node(tmp_path):
    words = ["algo=dsgt", "dataset=digits", "nodes=4", "steps=20", "eval_every=5", "dtype=float64", "tracker=none"]
    words += ["model=module", "model.target=tests.helpers.nets:Recurrent", "model.kwargs.dropout=0.3", "batch_size=4"]
    found = []
    for number, engine in enumerate(("engine=stacked", "engine=mpi ranks=1", "engine=mpi ranks=4")):
        results = tmp_path / str(number)
        done = typed(*words, *engine.split(), f"results={results}", cwd=ROOT)
        assert done.returncode == 0, done.stdout + done.stderr
        (run,) = (results / "runs").iterdir()
        slow, off = json.loads((run / "manifest.json").read_text())["model"]
        assert done.stderr.count(slow) == done.stderr.count(off) == 1
        assert "node by node" in slow
        assert "dropout" in off
        table = pd.read_parquet(run / "metrics.parquet")
        found.append(table[["train_loss", "test_loss", "grad_norm", "consensus"]].to_numpy())
    assert np.allclose(found[0], found[1], rtol=1e-12, atol=1e-14)
    assert np.allclose(found[0], found[2], rtol=1e-12, atol=1e-14)


def test_a_start_is_the_modules_own_under_the_runs_key():
    setting = Setting(4, range(4), (5, 6), 4, torch.float32, torch.device("cpu"))
    before = torch.random.get_rng_state()
    found = build_problem(config(dataset="digits", nodes=4, model=NET, init="independent"), setting).start()
    assert torch.equal(torch.random.get_rng_state(), before)
    for r, seed in enumerate((5, 6)):
        for i in range(4):
            net = start(generator(seed, i, "init"))
            own = torch.cat([p.detach().flatten() for p in net.parameters() if p.requires_grad])
            assert torch.equal(found[r, i], own)


def test_a_constructor_may_draw_with_numpy_and_random():
    c = config(dataset="digits", nodes=2, model={"name": "module", "target": "tests.helpers.nets:Drawn"})
    setting = Setting(2, range(2), (5, 6), 4, torch.float32, torch.device("cpu"))
    states = random.getstate(), np.random.get_state()[1].tolist()
    one, other = (build_problem(c, setting) for _ in range(2))
    assert (random.getstate(), np.random.get_state()[1].tolist()) == states
    start = one.start()
    assert torch.equal(start, other.start())
    assert not torch.equal(start[0], start[1])
    point = start[:, 0]
    assert torch.equal(one.evaluate(point).train_loss, other.evaluate(point).train_loss)


def test_accepts_outputs_that_depend_on_the_batch_only_by_rounding():
    check(config(dataset="digits", model={"name": "module", "target": "tests.helpers.nets:Rounded"}))


@pytest.mark.parametrize("kind", ["cast layers", "weights"])
def test_constants_need_not_be_registered(kind):
    """A trace that changes the data of a tensor, as ``layer.to`` does, ends the process."""
    kwargs = {"kind": kind, "trains": False}
    check(config(dataset="digits", model={"name": "module", "target": "tests.helpers.nets:Hidden", "kwargs": kwargs}))


def test_constants_may_be_complex():
    model = {"name": "module", "target": "tests.helpers.nets:Complex", "kwargs": {"train": False}}
    c = config(dataset="digits", model=model)
    check(c)
    assert np.isfinite(start_summary(c)).all()


@pytest.mark.thorough
def test_replicas_and_ranks_compute_the_same(tmp_path):
    some = [config(dataset="digits", model=NET, seed=s, steps=10) for s in (0, 1)]
    kept = Kept(2)
    stacked.run(some, kept)
    for r, c in enumerate(some):
        alone = rows(c)[0]
        for name in ("train_loss", "test_accuracy", "grad_norm", "consensus"):
            assert [row[name] for row in kept.rows[r]] == pytest.approx([row[name] for row in alone], rel=1e-9)


INVALID = [
    ("tests.helpers.nets:Normed", {}, "nets:Normed .*'1.running_mean'.*GroupNorm"),
    ("tests.helpers.nets:Normed", {"track": False}, "nets:Normed.* batch.*GroupNorm"),
    ("tests.helpers.nets:Embedded", {}, "nets:Embedded .*Embedding.*dataset=mobydick"),
    ("tests.helpers.nets:Noisy", {}, "nets:Noisy .*random"),
    ("tests.helpers.nets:Pair", {}, "nets:Pair .*tuple"),
    ("tests.helpers.nets:Drawn", {"own": "weight"}, "nets:Drawn .*'weight'.*default_rng"),
    ("tests.helpers.nets:Drawn", {"own": "shift"}, "nets:Drawn .*'shift'.*default_rng"),
    ("tests.helpers.nets:Drawn", {"own": "hidden"}, "nets:Drawn .*outputs.*default_rng"),
    ("tests.helpers.nets:Complex", {}, "nets:Complex .*complex64"),
    ("tests.helpers.nets:BySize", {}, "nets:BySize, .*size of the batch"),
    ("tests.helpers.nets:ByPlace", {}, "nets:ByPlace, .*place"),
    ("tests.helpers.nets:Hidden", {"kind": "layers"}, r"nets:Hidden .*\(64, 64\).*nn\.ModuleList"),
    ("tests.helpers.nets:Hidden", {"kind": "cast layers"}, r"nets:Hidden .*\(64, 64\).*nn\.ModuleList"),
    ("tests.helpers.nets:Hidden", {"kind": "weights"}, r"nets:Hidden .*\(64,\).*nn\.ParameterList"),
    ("tests.helpers.nets:nothing", {}, "nets:nothing .*parameters"),
    ("tests.helpers.nets:a_number", {}, "nets:a_number .*int"),
    ("tests.helpers.nets:Nett", {}, "tests.helpers.nets .*'Nett'. Did you mean 'Net'"),
    ("tests.helpers.nests:Net", {}, "nests:Net: ModuleNotFoundError.*PYTHONPATH"),
    ("tests.helpers.nets", {}, "package.module:Class.*tests.helpers.nets"),
    (None, {}, "model.target=package.module:Class"),
    ("tests.helpers.nets:Net", {"widht": 3}, "'widht'. Did you mean 'width'"),
    ("torch.nn:Linear", {}, r"in_features, out_features.*'model.kwargs=\{in_features"),
    ("torch.nn:Linear", {"in_features": 8, "out_features": 4}, r"\(2, 8, 4\).*\(2, 10\)"),
]


@pytest.mark.parametrize(("target", "kwargs", "values"), INVALID)
def test_rejects_invalid_modules(target, kwargs, values):
    with pytest.raises(UserError, match=values):
        check(config(dataset="digits", model={"name": "module", "target": target, "kwargs": kwargs}))


@pytest.mark.parametrize("equal", [2, 5, 6])
def test_rejects_dependence_on_the_batch_if_the_first_inputs_are_equal(equal, monkeypatch):
    x, y = np.arange(6 * 64.0).reshape(6, 8, 8) ** 1.5, np.arange(6)
    x[:equal] = x[0]
    arrays = Arrays(x, y, x, y, 10)
    first, other = arrays.examples()
    assert np.array_equal(first, x[0])
    assert not np.array_equal(first, other)
    monkeypatch.setattr("bench.build.build.load_arrays", lambda config: arrays)
    net = {"name": "module", "target": "tests.helpers.nets:Normed", "kwargs": {"track": False}}
    with pytest.raises(UserError, match="Normed"):
        check(config(dataset="digits", model=net, nodes=2))


def test_rejects_independent_starts_of_a_module_with_one_start():
    net = {"name": "module", "target": "tests.helpers.nets:Seeded"}
    check(config(dataset="digits", model=net, nodes=2))
    with pytest.raises(UserError, match="init=independent"):
        check(config(dataset="digits", model=net, nodes=2, init="independent"))


def test_kwargs_are_a_mapping_and_tell_runs_apart():
    one, other = (config(dataset="digits", model={**NET, "kwargs": {"width": w}}) for w in (6, 9))
    assert one.run_id != other.run_id
    assert one.labels()["model.kwargs.width"] == 6
    with pytest.raises(UserError, match="mapping"):
        config(model={**NET, "kwargs": "width"})


def test_the_source_of_a_module_is_part_of_the_fingerprint():
    c = config(dataset="digits", model=NET)
    assert nets.Net in chosen(c)
    assert [name for name in sources(c) if name.endswith("nets.py")]
    assert not [name for name in sources(c) if "torch" in Path(name).parts]


@pytest.mark.thorough
def test_a_module_can_be_registered_by_name():
    try:
        torch_model("a net of ours")(nets.Net)
        c = config(dataset="digits", model={"name": "a net of ours", "width": 12}, steps=5)
        assert rows(c)[0][-1]["train_loss"] == rows(config(dataset="digits", model=NET, steps=5))[0][-1]["train_loss"]
        assert nets.Net in chosen(c)
        with pytest.raises(UserError, match=r"'model\.widht'"):
            config(dataset="digits", model={"name": "a net of ours", "widht": 6})
    finally:
        models._items.pop("a net of ours", None)


def test_the_memory_of_a_step_is_what_is_alive_at_its_peak():
    """A linear layer keeps its outputs and the gradient of them: with inputs given, 2 numbers an output."""
    layer = torch.nn.Linear(50, 1000).double()
    found = floats_per_sample(layer, torch.zeros(1, 50, dtype=torch.float64))
    assert 1000 <= found <= 3000
    deep = torch.nn.Sequential(*(torch.nn.Sequential(torch.nn.Linear(100, 100), torch.nn.Tanh()) for _ in range(10)))
    kept = floats_per_sample(deep.double(), torch.zeros(1, 100, dtype=torch.float64))
    assert 10 * 100 <= kept <= 25 * 100  # one per layer at least, and not more than all that ever was
    net = Wrapped("net", lambda: nets.Net((8, 8), 10, 6))
    net.refuse(torch.randn(2, 8, 8, dtype=torch.float64))
    assert net.floats < 1000


@pytest.mark.thorough
def test_a_module_from_the_command_line(tmp_path):
    words = ["algo=dsgd", "dataset=digits", "steps=5", "engine=stacked", "tracker=none", f"results={tmp_path}"]
    done = typed("-m", *words, "model=module", "model.target=tests.helpers.nets:Net",
                 "model.kwargs.width=6,9", cwd=ROOT)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "model.kwargs.width" in done.stdout
    done = typed(*words, "model=module", "model.target=torch.nn:Flatten", cwd=ROOT)
    assert done.returncode == 2
    assert "torch.nn:Flatten" in done.stderr
