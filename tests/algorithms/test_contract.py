"""Every registered method keeps its promises, and the checks notice those that do not."""

from dataclasses import replace
from typing import NamedTuple

import pytest
import torch
from torch import Tensor

from bench.base.errors import UserError
from bench.base.registry import algorithms
from bench.contracts import methods as contract
from bench.contracts.fixtures import with_options
from bench.method import unit
from tests.algorithms.literal import VARIANTS
from tests.helpers.few import few
from tests.helpers.synchronous import SYNCHRONOUS

LONG = (contract.rounding, contract.end, contract.descent, contract.average, contract.stepsize)
"""These take longer than the rest together; that the mathematics is right, the literal rules say too."""


def kept(cls):
    for check in contract.CHECKS:
        if check not in LONG:
            check(cls)


def changed(name, variant):
    cls = with_options(algorithms[name], variant)
    known = {**cls.stepsize_options(), **cls.structure_options()}
    options = {key: option.default for key, option in known.items()}
    assert options | variant == options
    return cls


@pytest.mark.parametrize("name", SYNCHRONOUS)
def test_promises(name):
    kept(algorithms[name])


FEW = [("dsgd", {"gossip": "twice"}), ("gt", {"form": "semi", "begins": "mixed"}), ("choco", {"order": "overlapped"})]


@pytest.mark.parametrize(("name", "variant"), few(VARIANTS, FEW))
def test_variants_keep_their_promises_too(name, variant):
    kept(changed(name, variant))


@pytest.mark.parametrize("name", few(SYNCHRONOUS, ["dsgd"]))
def test_no_method_drifts_by_rounding(name):
    contract.rounding(algorithms[name])


@pytest.mark.parametrize("name", few(SYNCHRONOUS, ["d2", "dnasa", "dog", "kgt", "sgp", "push_pull"]))
def test_every_method_descends_averages_and_ends_where_it_declares(name):
    for check in LONG[1:]:
        check(algorithms[name])


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_nor_do_variants_drift_and_they_end_where_they_declare(name, variant):
    for check in LONG:
        if (name, variant, check) != ("deco", {"version": "ii"}, contract.descent):  # its potential shrinks with t
            check(changed(name, variant))


@pytest.mark.parametrize("name", ["dnasa", "dasagt"])
def test_the_tracker_of_the_released_code_is_never_read(name):
    class Silent(changed(name, {"average": "gradient"})):
        @classmethod
        def declare_for(cls, given):
            return replace(super().declare_for(given), diagnostic_states=())

    with pytest.raises(contract.CheckFailed, match="state u "):
        contract.states_read(Silent)
    with pytest.raises(contract.CheckFailed, match="message 2 "):
        contract.asked_read(Silent)


MILD = "sclip_ef"
"""Clips so smoothly that its bias is below the tolerance of the check."""


@pytest.mark.parametrize(
    "name", [name for name in SYNCHRONOUS if algorithms[name].properties.fixed_point == "elsewhere" and name != MILD]
)
def test_rejects_near_for_methods_that_end_elsewhere(name):
    class Claims(algorithms[name]):
        properties = replace(algorithms[name].properties, fixed_point="near")

    with pytest.raises(contract.CheckFailed, match="fixed_point='elsewhere'"):
        contract.end(Claims)


DNASA, DSGD = algorithms["dnasa"], algorithms["dsgd"]


class InPlace(DSGD):
    def step(self, s, t, grad, mix):
        s.x.sub_(self.eta[t] * grad(s.x, t))
        return s._replace(x=mix(s.x)[0])


class WrongShape(DSGD):
    def step(self, s, t, grad, mix):
        (x,) = mix(s.x - self.eta[t] * grad(s.x, t))
        return s._replace(x=x.mean(1))


class ChangesStart(DSGD):
    def start(self, x, grad, mix):
        return super().start(x + 1, grad, mix)


class Remembers(DSGD):
    momentum = None

    def step(self, s, t, grad, mix):
        g = grad(s.x, t)
        self.momentum = g if self.momentum is None else 0.9 * self.momentum + g
        (x,) = mix(s.x - self.eta[t] * self.momentum)
        return s._replace(x=x)


class SendsTwice(DSGD):
    def step(self, s, t, grad, mix):
        x, _ = mix(s.x - self.eta[t] * grad(s.x, t), s.x)
        return s._replace(x=x)


class SamplesTwice(DSGD):
    def step(self, s, t, grad, mix):
        g = grad(s.x, 2 * t) + grad(s.x, 2 * t + 1)
        (x,) = mix(s.x - self.eta[t] * g / 2)
        return s._replace(x=x)


class LosesTracker(DNASA):
    def step(self, s, t, grad, mix):
        return super().step(s._replace(v=0.9 * s.v), t, grad, mix)


class FavorsNodeZero(DSGD):
    def step(self, s, t, grad, mix):
        g = grad(s.x, t)
        (x,) = mix(s.x - self.eta[t] * torch.cat([2 * g[:, :1], g[:, 1:]], dim=1))
        return s._replace(x=x)


class Eavesdrops(DSGD):
    def step(self, s, t, grad, mix):
        (x,) = mix(s.x - self.eta[t] * grad(s.x, t).mean(1, keepdim=True))
        return s._replace(x=x.expand_as(s.x))


class FirstReplicaForAll(DSGD):
    def step(self, s, t, grad, mix):
        (x,) = mix(s.x - self.eta[t][:1] * grad(s.x, t))
        return s._replace(x=x)


class KnowsTheNetwork(DSGD):
    def step(self, s, t, grad, mix):
        (x,) = mix(s.x - (1 - self.lambda_2) * self.eta[t] * grad(s.x, t))
        return s._replace(x=x)


class CombinesThenAdapts(DSGD):
    """Sound, but not ``pooled`` as it inherits the word: a node's gradient is felt by itself alone at first."""

    def step(self, s, t, grad, mix):
        g = grad(s.x, t)
        (x,) = mix(s.x)
        return s._replace(x=x - self.eta[t] * g)


class CountsNodes(DSGD):
    def step(self, s, t, grad, mix):
        (x,) = mix(s.x - self.eta[t] * s.x.shape[1] * grad(s.x, t))
        return s._replace(x=x)


class GradientTwice(DSGD):
    def step(self, s, t, grad, mix):
        (x,) = mix(s.x - self.eta[t] * (grad(s.x, t) + grad(s.x, t)) / 2)
        return s._replace(x=x)


class StartsTalking(DSGD):
    def start(self, x, grad, mix):
        mix(x)
        return super().start(x, grad, mix)


class SendsANumber(DSGD):
    def step(self, s, t, grad, mix):
        x, _ = mix(s.x - self.eta[t] * grad(s.x, t), s.x[..., :1])
        return s._replace(x=x)


class TalksTooRarely(DSGD):
    properties = replace(DSGD.properties, vectors_per_step=0.5, rounds=0.5)

    def step(self, s, t, grad, mix):
        (x,) = mix(s.x - self.eta[t] * grad(s.x, t), when=self.coin(t, 0.25))
        return s._replace(x=x)


class SumsToSomething(DSGD):
    properties = replace(DSGD.properties, zero_sum=("x",))


class ReportsNothing(DSGD):
    properties = replace(DSGD.properties, report="mean")


class OneBetaForAll(DSGD):
    beta: float = 0.5

    def step(self, s, t, grad, mix):
        (x,) = mix(s.x - self.beta[0, 0, 0] * self.eta[t] * grad(s.x, t))
        return s._replace(x=x)


class PushesInSecret(DSGD):
    def step(self, s, t, grad, mix):
        (x,) = mix.push(s.x - self.eta[t] * grad(s.x, t))
        return s._replace(x=x)


class SaysItCompresses(DSGD):
    properties = replace(DSGD.properties, compresses="contractive")


class DriftsInFloat32(algorithms["d2"]):
    properties = replace(algorithms["d2"].properties, requires_float64=False)


class TracksByPulling(algorithms["push_pull"]):
    """Row-stochastic where mass must be kept: on a symmetric W nobody would notice."""

    def step(self, s, t, grad, mix):
        (x,), (y,) = mix.push_pull(push=(s.x - self.eta[t] * s.y,), pull=(s.y,))
        v = grad(x, t + 1)
        return s._replace(x=x, y=y + v - s.v, v=v)


class Misnamed(DSGD):
    class State(NamedTuple):
        theta: Tensor

    def start(self, x, grad, mix):
        return self.State(x)

    def step(self, s, t, grad, mix):
        return s


@pytest.mark.parametrize(
    ("cls", "check"),
    [
        (InPlace, contract.nothing_in_place),
        (WrongShape, contract.shapes),
        (ChangesStart, contract.shapes),
        (Misnamed, contract.shapes),
        (Remembers, contract.no_memory),
        (SendsTwice, contract.counts),
        (SamplesTwice, contract.counts),
        (GradientTwice, contract.counts),
        (StartsTalking, contract.counts),
        (SendsANumber, contract.counts),
        (TalksTooRarely, contract.counts),
        (PushesInSecret, contract.network_use),
        (SaysItCompresses, contract.network_use),
        (DriftsInFloat32, contract.rounding),
        (TracksByPulling, contract.states),
        (LosesTracker, contract.states),
        (SumsToSomething, contract.states),
        (ReportsNothing, contract.states),
        (OneBetaForAll, contract.replicas),
        (FavorsNodeZero, contract.permutation),
        (Eavesdrops, contract.locality),
        (FirstReplicaForAll, contract.replicas),
        (CombinesThenAdapts, contract.centralized),
        (CountsNodes, contract.one_voice),
    ],
)
def test_a_broken_promise_is_named(cls, check):
    with pytest.raises(contract.CheckFailed):
        check(cls)


def test_using_the_spectrum_requires_needs_topology():
    with pytest.raises(UserError, match=r"dsgd .*lambda_2.*needs=\{'topology'\}"):
        contract.shapes(KnowsTheNetwork)

    class Says(KnowsTheNetwork):
        properties = replace(DSGD.properties, needs=("smoothness", "topology"))

    contract.shapes(Says)


def test_combining_before_adapting_passes_if_declared():
    class Honest(CombinesThenAdapts):
        properties = replace(DSGD.properties, centralized_equivalent=False)

    for check in contract.CHECKS:
        check(Honest)


def test_unit_is_per_node_over_the_whole_vector():
    z = torch.tensor([[[3.0, 4.0], [0.0, 0.0], [0.0, -2.0]]])
    assert torch.equal(unit(z), torch.tensor([[[0.6, 0.8], [0.0, 0.0], [0.0, -1.0]]]))
