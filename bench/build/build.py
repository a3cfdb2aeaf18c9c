"""Builds the problem, the method and the compressor of a configuration, and runs them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from bench.base.errors import UserError
from bench.base.evaluation import evaluation_steps
from bench.base.prox import stays
from bench.base.randomness import EVERYONE, generator
from bench.base.registry import algorithms, compressors, datasets, models, regularizers, topologies
from bench.build.material import held_out, in_words, is_problem, load_arrays, loss_of, shards
from bench.build.network import method_of, mixing_of, properties_of
from bench.build.rates import rates_of
from bench.build.torch_setup import set_up_torch
from bench.config.inputs import check_unedited
from bench.config.run_config import RunConfig
from bench.method.algorithm import Algorithm
from bench.method.trajectory import assemble
from bench.models.model import Model
from bench.models.module import Wrapped
from bench.network.compressor import Compressor
from bench.problem.arrays import Arrays
from bench.problem.losses import CrossEntropy, Loss, NextToken
from bench.problem.problem import Problem, Setting
from bench.problem.regularized import Regularized
from bench.problem.scaled import changed, refuse
from bench.problem.supervised import Supervised
from bench.store.record import LATER
from bench.training.hosting import Hosting
from bench.training.loop import Timetable, Training
from bench.training.observer import Observer, Outcome, Snapshot

HELD = ("topology", "links", "network")
"""Groups whose files are read once, and checked then; so are those of datasets, except for problems."""


def run_in(
    hosting: Hosting,
    configs: Sequence[RunConfig],
    observer: Observer,
    begin: Snapshot | None = None,
    thin: bool = False,
) -> tuple[list[Outcome | None], Snapshot]:
    """Run configurations that differ only in stepsizes, seed or graph as replicas of one program."""
    first = configs[0]
    dtype, device = getattr(torch, first.dtype), torch.device(first.device)
    seeds, rates = tuple(c.seed for c in configs), rates_of(first)
    setting = Setting(first.nodes, hosting.hosted, seeds, first.batch_size, dtype, device, rates)
    problem = build_problem(first, setting)
    algorithm = build_algorithm(configs, problem)
    due = evaluation_steps(first.steps, first.eval_every, first.eval_spacing)
    mixings = [mixing_of(config) for config in configs]
    timetable = Timetable(first.steps, due, first.checkpoint_every, thin)
    compressor = build_compressor(first, problem.layout.size)
    capture = device.type == "cuda" and bool(first.engine.options.get("capture"))
    training = Training(algorithm, problem, hosting, mixings, timetable, observer, begin, compressor, capture)
    held = HELD if is_problem(datasets[first.dataset.name]) else (*HELD, "dataset")
    check_unedited(file for config in configs for file in config.inputs if file.group not in held)
    set_up_torch()  # modules that the parts import may have changed the settings
    with torch.no_grad() if problem.autograd else torch.inference_mode():
        return training.run()


def build_problem(config: RunConfig, setting: Setting) -> Problem:
    """Return the problem of a configuration for the nodes and seeds of ``setting``."""
    parts = problem_parts(config, setting.distinct_seeds)
    if parts is None:
        problem: Problem = datasets[config.dataset.name](setting, **config.dataset.options)
    else:
        problem = Supervised(setting, *parts, config.init, config.sampling, config.eval_samples, held_out(config))
    if config.regularizer.name != LATER["regularizer"]:
        problem = Regularized(problem, regularizers[config.regularizer.name](**config.regularizer.options))
    return changed(problem, config.scale, config.input_scale)


Parts = tuple[Arrays, list[list[np.ndarray]], Model, Loss]


def problem_parts(config: RunConfig, seeds: Sequence[int]) -> Parts | None:
    """Return data, shards for each seed, model and loss; None if the dataset is a problem of its own.

    Raises:
        UserError: The problem of the configuration is invalid.
    """
    name = config.dataset.name
    refuse(config.scale, config.input_scale)
    if not is_problem(datasets[name]):
        arrays, loss = load_arrays(config), loss_of(config)
        model = build_model(config, arrays, loss)  # first: its errors say more than those of the shards
        return arrays, [shards(config, seed) for seed in seeds], model, loss
    given = config.model.name, config.loss.name, config.partition.name, config.init, config.sampling
    if given != ("linear", LATER["loss"], "even", "shared", "replacement"):
        raise UserError(
            f"dataset={name} brings its own model, loss, start and samples. Remove model, loss, partition, init and "
            "sampling."
        )
    if config.eval_samples is not None:
        raise UserError(f"dataset={name} has no shards to draw evaluation samples from. Remove eval_samples.")
    if config.validation:
        raise UserError(f"dataset={name} has no training samples to set aside. Remove validation.")
    return None


SPECTRUM = ("rho", "lambda_2", "lambda_n")
"""The properties of W that a method with needs={"topology"} may read."""


def build_algorithm(configs: Sequence[RunConfig], problem: Problem, steps: int | None = None) -> Algorithm:
    """Return the method with the options of all replicas, for all steps or the first ``steps``."""
    first, setting = configs[0], problem.setting
    check_method(first)
    certificates = [mixing_of(config).certificate for config in configs]
    return assemble(
        method_of(first),
        problem.layout,
        [config.algo.options for config in configs],
        n=first.schedule_nodes or first.nodes,
        T=steps or first.steps,
        dtype=setting.dtype,
        device=setting.device,
        seeds=setting.seeds,
        prox=problem.prox or stays,
        spectrum={name: [getattr(c, name) for c in certificates] for name in SPECTRUM},
    )


def check_method(config: RunConfig) -> None:
    """Raise ``UserError`` if the method needs another precision or start, or cannot handle a nonsmooth regularizer."""
    properties, name = properties_of(config), config.regularizer.name
    if properties.requires_float64 and config.dtype != "float64":
        raise UserError(
            f"{config.algo.name} accumulates rounding errors quadratically in the number of steps, which "
            f"{config.dtype} cannot support. Use dtype=float64."
        )
    if properties.common_start and config.init != "shared":
        raise UserError(
            f"{config.algo.name} requires that all nodes start at the same point, got init={config.init}. "
            "Use init=shared."
        )
    if not regularizers[name].smooth and not properties.proximal:
        able = [other for other in algorithms if algorithms[other].properties.proximal]
        raise UserError(
            f"regularizer={name} has no gradient at 0, and {config.algo.name} has no proximal step. Use regularizer=l2 "
            f"or a method with proximal steps: {', '.join(able)}."
        )


def build_compressor(config: RunConfig, size: int) -> Compressor | None:
    """Return the compressor for vectors of ``size`` numbers, if any; raise ``UserError`` if the method has none."""
    name, supported = config.compressor.name, properties_of(config).compresses
    if name == "none":
        return None
    if supported == "no":
        raise UserError(f"{config.algo.name} does not use compressors. Remove compressor={name} or change algo.")
    if topologies[config.topology.name].kind == "all_reduce":
        raise UserError(
            f"topology={config.topology.name} does not use compressors. Remove compressor={name} or change topology."
        )
    compressor: Compressor = compressors[name](**config.compressor.options)
    compressor.check(size)
    if supported == "contractive" and compressor.delta(size) is None:
        raise UserError(
            f"{config.algo.name} needs a contractive compressor. {name} is not contractive with "
            "compressor.unbiased=true. Remove compressor.unbiased=true."
        )
    return compressor


_notes: dict[str, tuple[str, ...]] = {}
"""Notes by dataset, model and loss, since every run of a sweep needs them."""


def model_notes(config: RunConfig) -> tuple[str, ...]:
    """Return notes on the computation of a module of the user, for the manifest."""
    if not issubclass(models[config.model.name], Wrapped):
        return ()
    key = config.key("dataset", "model", "loss", "data_dir")
    if key not in _notes:
        _notes[key] = build_model(config, load_arrays(config), loss_of(config)).notes
    return _notes[key]


def start_summary(config: RunConfig) -> list[list[float]] | None:
    """Return the norm and a projection of the initial parameters and of every constant; None without a model."""
    if is_problem(datasets[config.dataset.name]):
        return None
    inputs, outputs = load_arrays(config).train_x.shape[1:], loss_of(config).outputs
    model = models[config.model.name](inputs, outputs[-1], **config.model.options)
    constants = model.constants().values() if isinstance(model, Wrapped) else ()
    real = (torch.view_as_real(value) if value.is_complex() else value for value in constants)
    return summarize([model.initial(generator(config.seed, EVERYONE, "init")), *(v.double().numpy() for v in real)])


def summarize(parts: Sequence[np.ndarray]) -> list[list[float]]:
    """Return the norm and a projection of each array."""
    finite = [np.where(np.isfinite(part), part, 0).ravel() for part in parts]  # masks have infinite entries
    return [[float(np.linalg.norm(x)), float(np.cos(np.arange(len(x))) @ x)] for x in finite]


def build_model(config: RunConfig, arrays: Arrays, loss: Loss) -> Model:
    """Return the model for these inputs and this loss; raise ``UserError`` if its outputs have a wrong shape."""
    name, shape = config.model.name, arrays.train_x.shape[1:]
    outputs = loss.outputs
    if models[name].tokens not in (None, arrays.tokens):
        able = ", ".join(other for other in models if models[other].tokens in (None, arrays.tokens))
        raise UserError(
            f"model={name} takes {'numbers' if arrays.tokens else 'the tokens of a text'} as inputs, but "
            f"dataset={config.dataset.name} has {'a text' if arrays.tokens else 'numbers'}. Use another model: {able}."
        )
    with in_words(f"model={name} cannot be made for inputs of shape {shape} and outputs of shape {outputs}"):
        model = models[name](shape, outputs[-1], **config.model.options)
        start, again = (model.initial(np.random.default_rng(0)) for _ in range(2))
        if not np.array_equal(start, again, equal_nan=True):
            raise UserError(f"model={name}: initial must draw only with the generator that it receives.")
        if config.init == "independent" and np.array_equal(start, model.initial(np.random.default_rng(1))):
            raise UserError(f"model={name} has one start only, so init=independent has no effect. Use init=shared.")
        x = torch.as_tensor(start, dtype=torch.float64).unsqueeze(0)
        if x.shape[1] != model.layout.size:
            raise UserError(f"model={name}: a start has {x.shape[1]} parameters, its layout {model.layout.size}.")
        two = torch.as_tensor(arrays.examples().astype(np.int64 if arrays.tokens else np.float64))
        two = two if arrays.tokens else (two - arrays.mean) / arrays.sd
        two = two.expand(2, *shape)
        model.refuse(two)
        out = model.forward(model.unpack(x), two.unsqueeze(0))
        if tuple(out.shape) != (1, 2, *outputs):
            raise UserError(
                f"model={name}: what it gives for 2 inputs has shape {tuple(out.shape)[1:]}; "
                f"loss={config.loss.name} on dataset={config.dataset.name} needs {(2, *outputs)}."
            )
        if type(loss) in (CrossEntropy, NextToken) and _sums_to_one(out):  # a subclass may need no logits
            line = f"model={name} returns probabilities, but the loss applies softmax to them again. Return logits."
            model.notes = (*model.notes, line)
    return model


def _sums_to_one(out: torch.Tensor) -> bool:
    """Return whether the last axis holds probabilities, up to rounding in float32."""
    sums = out.sum(-1)
    return bool((out >= 0).all()) and torch.allclose(sums, torch.ones_like(sums), rtol=0, atol=1e-5)
