"""Problems, losses and models of plug-ins must be the same in every process and command."""

import copy
import json

import numpy as np
import pytest
import torch

from bench.base.errors import UserError
from bench.base.registry import datasets, losses
from bench.build import probe
from bench.build.manifest import describe
from bench.build.origin import disagreement, made_of
from bench.config.choices import options_of
from bench.problem.losses import CrossEntropy
from bench.problem.problem import Evaluation, Problem, vector_layout
from bench.problem.setting import hosted_share
from bench.store.kinds import MANIFEST, odd
from bench.store.run_folder import RunFolder
from bench.sweep import preflight
from bench.sweep.resume import stale
from tests.helpers.configs import config, rows


class Bowl(Problem):
    """Draws as it should, or where ``where`` says."""

    layout = vector_layout(3)

    def __init__(self, setting, where: str = "nowhere"):
        super().__init__(setting)
        self.where, self.own = where, np.random.default_rng(0)
        keyed = setting.exact(setting.draw_shared("center", lambda g: g.standard_normal(3)))
        self.center = torch.as_tensor(np.random.standard_normal((1, 3))) if where == "init" else keyed

    def start(self):
        x = torch.ones(len(self.setting.seeds), len(self.setting.hosted), 3, dtype=self.setting.dtype)
        return x + torch.rand(()) if self.where == "start" else x

    def grad(self, x, s, stream=0):
        noise = {"grad": torch.rand_like, "order": lambda x: torch.as_tensor(self.own.standard_normal(3))}
        return x - self.center[:, None] + noise.get(self.where, torch.zeros_like)(x)

    def evaluate(self, mean):
        factor = torch.rand(()) if self.where == "evaluate" else 1.0
        share, off = hosted_share(self.setting), mean.double() - self.center
        loss = factor * share * off.square().sum(-1)
        return Evaluation(loss, loss, None, share * off)


class Weighted(CrossEntropy):
    def __init__(self, arrays, drawn: bool = False):
        super().__init__(arrays)
        self.factor = float(np.random.uniform(0.1, 3)) if drawn else 0.5

    def each(self, out, y):
        return super().each(out, y) * self.factor

    def delta(self, out, y, weight):
        return super().delta(out, y, weight) * self.factor


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    monkeypatch.setitem(datasets._items, "mine", Bowl)
    monkeypatch.setitem(losses._items, "mine", Weighted)
    monkeypatch.setattr(probe, "_known", {})
    monkeypatch.setattr(preflight, "_passed", set())
    options_of.cache_clear()
    yield
    options_of.cache_clear()


def bowl(where: str = "nowhere", **changes):
    return config(dataset={"name": "mine", "where": where}, **changes)


def weighted(drawn: bool = False):
    return config(dataset="digits", loss={"name": "mine", "drawn": drawn})


@pytest.mark.parametrize("where", ["init", "start", "grad", "order", "evaluate"])
def test_rejects_a_problem_that_is_another_one_each_time(where):
    with pytest.raises(UserError, match=r"^dataset=mine .*setting\.draw"):
        preflight.check(bowl(where))


def test_rejects_a_loss_that_is_another_one_each_time():
    with pytest.raises(UserError, match=r"^loss=mine .*default_rng"):
        preflight.check(weighted(drawn=True))


@pytest.mark.parametrize("valid", [bowl, weighted])
def test_accepts_problems_and_losses_that_draw_with_keys(valid):
    preflight.check(valid())
    (summary,) = made_of([valid()])["problems"]
    assert len(summary) == 3
    assert all(norm > 0 for norm, _ in summary)
    assert rows(valid())


def test_the_suite_itself_is_not_summarized():
    for c in (config(), config(dataset="digits"), config(dataset="digits", algo="dsgt", model="mlp")):
        assert made_of([c])["problems"] == [None]
        assert "problem" not in describe(c)


@pytest.mark.parametrize("part", [0, 1, 2])
def test_another_problem_of_a_rank_is_reported_unless_rounding_explains_it(part):
    meant = made_of([bowl(), bowl(seed=1)])
    assert meant["problems"][0] != meant["problems"][1]
    for change, is_reported in ((1e-6, False), (1e-2, True)):
        reported = copy.deepcopy(meant)
        reported["problems"][1][part][1] += change * meant["problems"][1][part][0]
        assert (disagreement(reported, meant, "rank 1") is not None) == is_reported
    assert disagreement({**meant, "problems": [None, None]}, meant, "rank 1") is not None


def test_a_run_on_another_problem_is_stale(tmp_path, monkeypatch):
    folder = RunFolder(bowl(results=str(tmp_path)))
    before = json.loads(json.dumps(describe(folder.config)))
    assert odd(before, MANIFEST) is None
    monkeypatch.setattr(folder, "manifest", lambda: before)
    assert stale(folder) is None
    for other in ([[1.0, 1.0]], [[1.0], [2.0, 3.0], []], []):
        monkeypatch.setattr(folder, "manifest", lambda other=other: {**before, "problem": other})
        assert stale(folder) is not None
    older = {name: value for name, value in before.items() if name != "problem"}
    monkeypatch.setattr(folder, "manifest", lambda: older)
    assert stale(folder) is None
    assert "problem" not in describe(folder.config, older)
    assert describe(folder.config, before)["problem"] == before["problem"]


class Broken(Bowl):
    def evaluate(self, mean):
        raise SystemExit


def test_errors_of_a_problem_are_left_to_the_run(monkeypatch):
    monkeypatch.setitem(datasets._items, "mine", Broken)
    preflight.check(bowl())
    assert made_of([bowl()])["problems"] == [None]
