"""Captured steps compute the numbers of steps that run one by one, bit for bit."""

import io
import json

import pytest
import torch
from rich.console import Console

from bench.base.step_index import Capture, NotCapturable, StepIndex
from bench.build import build
from bench.engine import stacked
from bench.sweep.sweep import run_all
from bench.training import captured
from bench.training.loop import Training
from tests.helpers.configs import Kept, config
from tests.helpers.few import few
from tests.helpers.run_folders import TIMES, folders
from tests.helpers.synchronous import SYNCHRONOUS

EAGER = {
    "dog": "quotient",  # 9 / (9 + t)
    "kgt": "value",  # range(t * k, t * k + k)
    "led": "value",
    "proxskip": "text",  # a coin, drawn on the CPU
}
"""Methods that use the step number on the CPU, and for what."""


class Replayed(captured.CapturedStep):
    """Without a GPU: a replay runs the step again, with the step number as a tensor."""

    def _record(self, t):
        self._run(t)

    def __call__(self, t):
        self._capture.refill(t)
        recorder = self._advance(self._rehearsed)
        recorder.charge(t)
        return self._state

    @property
    def _rehearsed(self):
        return -1  # a step number that is used in the place of the tensor would be far off


@pytest.fixture
def replayed(monkeypatch):
    """Runs on the CPU go the way of captured steps."""
    monkeypatch.setattr(build, "Training", lambda *arguments: Training(*arguments[:-1], True))
    monkeypatch.setattr(captured, "CapturedStep", Replayed)
    monkeypatch.setattr(captured, "WORTH", 2)


def result(*configs) -> Kept:
    kept = Kept(len(configs))
    stacked.run(configs, kept)
    return kept


def same(one: Kept, other: Kept) -> None:
    for ours, theirs in zip(one.rows, other.rows, strict=True):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            assert {k: v for k, v in a.items() if k not in TIMES} == {k: v for k, v in b.items() if k not in TIMES}


def pair(algo: str, **changes):
    """Two replicas with seeds and graphs of their own, over more steps than two blocks of samples hold."""
    changes = {"steps": 150, "eval_every": 25, **changes}
    return [
        config(algo=algo, seed=seed, topology={"name": graph, "lazy": True}, **changes)
        for seed, graph in enumerate(("ring", "star"))
    ]


@pytest.mark.parametrize("algo", few(SYNCHRONOUS, ["dnasa", "d2", "dsgt", "dadam", "detag", "kgt", "proxskip"]))
def test_replays_equal_single_steps(algo, request):
    expected = result(*pair(algo))
    request.getfixturevalue("replayed")
    seen = result(*pair(algo))
    same(seen, expected)
    reason = seen.facts[0].get("not_captured")
    assert (reason is not None) == (algo in EAGER), reason
    assert EAGER.get(algo, "") in (reason or "")


PROBLEMS = {
    "images, gathered at once": {"dataset": "digits", "model": "mlp", "steps": 80},
    "noise": {"dataset": "quadratics"},
    "a graph that changes in turns": {"topology": "one_peer_exponential"},
    "a sparse graph": {"topology": "ring", "nodes": 64, "steps": 70},
    "regularized": {"regularizer": {"name": "l2"}, "dataset": "digits", "steps": 80},
}


@pytest.mark.parametrize("case", PROBLEMS)
def test_replays_equal_single_steps_on_every_kind_of_problem(case, request):
    c = config(**{"algo": "dsgt", "steps": 150, "eval_every": 50, "nodes": 8, **PROBLEMS[case]})
    expected = result(c)
    request.getfixturevalue("replayed")
    seen = result(c)
    same(seen, expected)
    assert "not_captured" not in seen.facts[0]


@pytest.mark.parametrize(
    "changes", [{"topology": "random_each_round"}, {"links": {"name": "lossy", "p": 0.2}}], ids=["drawn", "lossy"]
)
def test_networks_that_are_drawn_on_the_cpu_run_step_by_step(changes, request):
    expected = result(config(algo="dsgd", **changes))
    request.getfixturevalue("replayed")
    seen = result(config(algo="dsgd", **changes))
    same(seen, expected)
    assert seen.facts[0]["not_captured"]


def test_a_sweep_says_once_why_steps_are_not_captured(replayed, tmp_path):
    configs = [config(algo="proxskip", seed=seed, results=str(tmp_path)) for seed in range(2)]
    said = io.StringIO()
    assert run_all(configs, Console(file=said, width=200)) == 0
    assert said.getvalue().count("Steps of proxskip") == 1
    for folder in folders(tmp_path):
        assert "text" in json.loads((folder / "manifest.json").read_text())["not_captured"]


@pytest.mark.parametrize(
    "use",
    [
        lambda t: t % 10 == 0,
        lambda t: 1 if t > 5 else 0,
        lambda t: bool(t),
        lambda t: range(t),
        lambda t: f"{t}",
        lambda t: {t: 1},
        lambda t: 9 / (9 + t),
        lambda t: torch.ones(1) * t,
        lambda t: torch.ones(1) ** t,
        lambda t: [1, 2, 3][t],
    ],
)
def test_uses_that_cannot_be_replayed_are_rejected(use):
    index = StepIndex(Capture(), torch.tensor([3]), 3)
    with pytest.raises((NotCapturable, TypeError)):
        use(index)


def test_sample_numbers_may_be_affine_in_t():
    index = StepIndex(Capture(), torch.tensor([3]), 3)
    assert ((index + 1) * 4 - 2).value(10) == 42
    assert (2 * index + 1).tensor().item() == 7


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
@pytest.mark.parametrize("algo", SYNCHRONOUS)
@pytest.mark.parametrize("dataset", ["synthetic", "digits"])
def test_a_captured_step_computes_the_same_on_a_gpu(algo, dataset):
    changes = {"device": "cuda", "dataset": dataset, **({"model": "mlp"} if dataset == "digits" else {})}
    single, replays = (
        result(*pair(algo, **changes, engine={"name": "stacked", "capture": capture})) for capture in (False, True)
    )
    same(replays, single)
    assert ("not_captured" in replays.facts[0]) == (algo in EAGER)
