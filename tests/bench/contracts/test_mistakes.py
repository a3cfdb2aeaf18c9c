"""Mistakes that an author of a new method can make are noticed, and what is right is not."""

from dataclasses import replace

import pytest

from bench.contracts import methods as contract
from tests.bench.contracts import misdeclared, mistakes

CAUGHT = {
    mistakes.OverAllNodes: "locality",
    mistakes.OverAllReplicas: "replicas",
    mistakes.ForgetsTheStepsize: "stepsize",
    mistakes.StepsizeOnXToo: "average",
    mistakes.MomentumGrows: "descent",
    mistakes.WrongSign: "descent",
    mistakes.ForgetsToMix: "counts",
    mistakes.ForgetsToMixAndSaysSo: "average",
    mistakes.KeepsWhatItSent: "asked_read",
    mistakes.OwnGradient: "states_read",
    mistakes.TrackerOfTheWrongSign: "states",
    mistakes.GlobalMemory: "shapes",
    mistakes.InPlace: "nothing_in_place",
    mistakes.Single: "shapes",
    mistakes.RandomOfItsOwn: "no_memory",
    mistakes.HiddenSnapshot: "no_memory",
    mistakes.CountsItsNeighbors: "one_voice",
    mistakes.FirstNodeIsSpecial: "permutation",
    mistakes.DecaysToZero: "average",
    mistakes.ExtraMessage: "asked_read",
    mistakes.ExtraGradient: "asked_read",
    misdeclared.DeclaresOneVector: "counts",
    misdeclared.DeclaresOneRound: "counts",
    misdeclared.DeclaresNoStart: "counts",
    misdeclared.EstimatesWhatIsNotThere: "states",
    misdeclared.TracksWhatItDoesNot: "states",
    misdeclared.SumsToZeroItSays: "states",
    misdeclared.PushesItSays: "network_use",
    misdeclared.BoundedItSays: "bound",
    misdeclared.ScaleFreeItSays: "scale",
    misdeclared.IsSGDItSays: "centralized",
    misdeclared.ExactItSays: "end",
}
"""The first check that notices it."""


def notices(check, cls) -> bool:
    """As the command does: what an author wrote may raise anything."""
    try:
        check(cls)
    except Exception:
        return True
    return False


def first(cls) -> str | None:
    """The first check that notices something; without ``rounding``, which is slow, and has its own tests."""
    checks = (check for check in contract.CHECKS if check is not contract.rounding)
    return next((check.__name__ for check in checks if notices(check, cls)), None)


@pytest.mark.parametrize("cls", CAUGHT)
def test_the_check_of_a_mistake_fails(cls):
    assert notices(getattr(contract, CAUGHT[cls]), cls)


def test_a_norm_over_all_nodes_is_answered_with_the_norm_of_a_node():
    with pytest.raises(contract.CheckFailed, match=r"\(R, k, P\).*norm\(dim=-1, keepdim=True\)"):
        contract.locality(mistakes.OverAllNodes)


@pytest.mark.thorough
@pytest.mark.parametrize("cls", CAUGHT)
def test_no_earlier_check_fails(cls):
    assert first(cls) == CAUGHT[cls]


@pytest.mark.thorough
def test_normalizing_each_node_is_not_centralized_equivalent():
    class Honest(mistakes.Scaled):
        properties = replace(mistakes.Right.properties, centralized_equivalent=False)

    assert first(mistakes.Scaled) == "centralized"
    assert first(Honest) is None


@pytest.mark.thorough
def test_a_momentum_that_is_never_kept_is_another_sound_method():
    """The same without momentum, with a stepsize of (1−β) η: only its rule can tell."""
    assert first(mistakes.MomentumNotKept) is None
