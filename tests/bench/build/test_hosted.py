"""The numbers of a plug-in's problem must not depend on the number of processes."""

import numpy as np
import pytest
import torch

from bench.base.errors import UserError
from bench.base.registry import datasets, discover
from bench.build import hosted
from bench.build.material import is_problem
from bench.problem.problem import Evaluation, Problem, dataset, vector_layout
from bench.problem.setting import hosted_share
from bench.sweep import preflight
from tests.helpers.configs import config


class Bowl(Problem):
    """f_i(x) = ‖x − i − 1‖²/2."""

    layout = vector_layout(3)

    def centers(self):
        return torch.arange(1.0, self.setting.nodes + 1, dtype=self.setting.dtype)[list(self.setting.hosted), None]

    def start(self):
        return torch.ones(len(self.setting.seeds), len(self.setting.hosted), 3, dtype=self.setting.dtype)

    def grad(self, x, s, stream=0):
        noise = self.setting.exact(self.setting.draw("noise", lambda g: g.standard_normal(3), block=s))
        return x - self.centers() + noise

    def full(self, x):
        return x - self.centers()

    def share(self):
        return hosted_share(self.setting)

    def evaluate(self, mean):
        off = mean.double().unsqueeze(1) - self.centers().double()
        loss = off.square().sum((1, 2)) / 2 / self.setting.nodes
        r = self.share() * mean.double().square().sum(-1)
        return Evaluation(loss + r, r, None, off.sum(1) / self.setting.nodes + self.share() * 2 * mean.double())

    def node_gradients(self, mean):
        for i in self.setting.hosted:
            yield mean.double() - (i + 1)

    def node_losses(self, x):
        return x.double().square().sum(-1)


class StartsByPlace(Bowl):
    def start(self):
        return super().start() + torch.arange(len(self.setting.hosted), dtype=self.setting.dtype)[:, None]


class GradByPlace(Bowl):
    def grad(self, x, s, stream=0):
        return x - torch.arange(1.0, x.shape[1] + 1, dtype=x.dtype)[:, None]


class NoisePerProcess(Bowl):
    def grad(self, x, s, stream=0):
        return x - self.centers() + torch.as_tensor(np.random.default_rng(s).standard_normal(x.shape))


class FullOfAll(Bowl):
    def full(self, x):
        return x - x.mean(1, keepdim=True)


class NoShare(Bowl):
    def share(self):
        return 1.0


class MeanOfHosted(Bowl):
    def evaluate(self, mean):
        whole = super().evaluate(mean)
        return Evaluation(whole.train_loss, whole.test_loss, None, whole.gradient / self.share())


class GradientsByPlace(Bowl):
    def node_gradients(self, mean):
        return [mean.double() - (i + 1) for i in range(len(self.setting.hosted))]


class LossesOfMean(Bowl):
    def node_losses(self, x):
        return super().node_losses(x).mean(1, keepdim=True).expand(x.shape[:2])


pytestmark = pytest.mark.usefixtures("alone")


WRONG = {
    StartsByPlace: "start",
    GradByPlace: "grad",
    NoisePerProcess: "grad",
    FullOfAll: "full",
    NoShare: "evaluate",
    MeanOfHosted: "evaluate",
    GradientsByPlace: "node_gradients",
    LossesOfMean: "node_losses",
}


@pytest.mark.parametrize(("problem", "function"), WRONG.items())
@pytest.mark.parametrize("nodes", [2, 6])
def test_rejects_numbers_that_depend_on_the_processes(problem, function, nodes):
    dataset("mine")(problem)
    with pytest.raises(UserError, match=rf"^dataset=mine: {function} .*setting"):
        preflight.check_data(config(dataset="mine", nodes=nodes))


@pytest.mark.parametrize("nodes", [1, 2, 6])
def test_accepts_a_problem_of_its_hosted_nodes(nodes):
    dataset("mine")(Bowl)
    preflight.check_data(config(dataset="mine", nodes=nodes))


discover()


@pytest.mark.parametrize("name", [name for name in datasets if is_problem(datasets[name])])
def test_accepts_the_problems_of_the_suite(name):
    c = config(dataset={"name": name}, nodes=4)
    assert hosted._wrong(*(hosted._problem(c, part) for part in (range(3), range(1), range(1, 3)))) is None
