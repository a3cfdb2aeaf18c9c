"""Wrong versions of the five methods of the paper: which check notices them, and which none does."""

import pytest

from bench.base.registry import algorithms
from bench.contracts import methods as contract
from bench.contracts.literal import literal
from tests.algorithms.literal import RULES
from tests.bench.contracts.mutants import MUTANTS, averages, normalised
from tests.helpers.few import few

CAUGHT = {
    "dsgd Ascends": "descent end pooled",
    "dsgd KeepsItsOwn": "asked_read average end pooled",
    "dsgd MixesTheGradient": "average end",
    "dsgd StaleGradient": "pooled",
    "dsgd LateStepsize": "pooled",
    "dsgd StepsTwice": "pooled",
    "dsgd AlwaysOneSample": "counts pooled",
    "dsgd KnowsTheMean": "locality",
    "dsgt AscendsTracking": "descent end pooled",
    "dsgt DropsTheTracker": "states_read asked_read end",
    "dsgt TrackerUnmixed": "asked_read end",
    "dsgt XUnmixed": "asked_read average end pooled",
    "dsgt TrackerBeginsAtZero": "states descent end pooled",
    "dsgt BothBeginAtZero": "asked_read pooled",
    "dsgt GradientBeforeTheStep": "pooled",
    "dsgt CombinesWhileAdapting": "pooled",
    "dsgt NothingTakenAway": "states pooled",
    "dsgt SampleAgain": "counts pooled",
    "dasagt AscendsTheAverage": "descent end",
    "dasagt AverageUnmixed": "asked_read",
    "dasagt TrackerOfTheAverageUnmixed": "asked_read end",
    "dasagt AveragesOwnGradients": "states_read asked_read end",
    "dasagt ForgetsNothing": "end",
    "dasagt AverageBeginsAtX": "average descent",
    "dnasa AscendsTheUnit": "descent end",
    "dnasa XOfItsOwn": "asked_read average bound",
    "dnasa ZOfItsOwn": "asked_read pooled",
    "dnasa UOfItsOwn": "asked_read",
    "dnasa NormalisesTheTracker": "states_read asked_read pooled",
    "dnasa NotNormalised": "scale",
    "dnasa MeanNorm": "locality bound",
    "dnasa EpsilonInTheNorm": "scale",
    "dnasa SignOfEveryNumber": "bound",
    "dnasa TwiceTheUnit": "bound",
    "dnasa ReadsTheMeanOfAll": "locality",
    "d2 IsDSGD": "states_read end",
    "d2 AscendsTwice": "descent end pooled",
    "d2 ForgetsTheOldStep": "states_read end pooled",
    "d2 OldGradientNewStepsize": "pooled",
    "d2 SignOfTheOldStep": "end pooled",
    "d2 SignOfTheMomentum": "descent end pooled",
    "d2 MixesXAlone": "average pooled",
    "d2 BeginsBesideZero": "average descent end pooled",
}
"""Every check that notices it, in the contract's order."""
SURVIVORS = {
    "dsgd WrongExponent": "D-SGD with another schedule",
    "dasagt AveragesTheOldTracker": "averaging one step late, which is exact too",
    "dasagt AlphaForgotten": "the same method with a stepsize of η/α",
    "dasagt WeightsSwapped": "the same method with an averaging weight of 1 − α",
    "dnasa LateAlpha": "averaging with another schedule",
    "dnasa HalfInThePlaceOfThreeQuarters": "D-NASA with another schedule",
}
"""Sound methods that are others than the one that was meant: only its rule can tell."""


def notices(check, cls) -> bool:
    try:
        check(cls)
    except contract.BrokenPromise:
        return True
    return False


def rule_of(name):
    """The literal rule of the suite, as an author gives it to --literal."""
    rule = RULES[name.split()[0]]
    return literal(lambda X, W, G, T, options: rule(X, W, G, options["schedule"], T, options), name)


def test_every_mutant_is_in_one_table_and_few_survive():
    assert {*CAUGHT, *SURVIVORS} == set(MUTANTS)
    assert not CAUGHT.keys() & SURVIVORS.keys()
    assert len(CAUGHT) >= 0.85 * len(MUTANTS)


@pytest.mark.parametrize("name", CAUGHT)
def test_the_first_check_of_its_row_notices_it(name):
    assert notices(getattr(contract, CAUGHT[name].split()[0]), MUTANTS[name])


@pytest.mark.thorough
@pytest.mark.parametrize("name", MUTANTS)
def test_who_notices_it(name):
    """All but ``rounding``, which is slow, and has its own tests."""
    checks = [check for check in contract.CHECKS if check is not contract.rounding]
    found = {check.__name__ for check in checks if notices(check, MUTANTS[name])}
    named = set(CAUGHT.get(name, "").split())
    assert named <= found  # what blows up may be noticed by more of them, as rounding has it
    assert bool(found) == bool(named)


@pytest.mark.parametrize("name", few(MUTANTS, [*SURVIVORS, "d2 IsDSGD"]))
def test_its_rule_notices_every_one(name):
    assert notices(rule_of(name), MUTANTS[name])


@pytest.mark.parametrize("name", few(["dsgd", "dsgt", "dasagt", "dnasa", "d2"], ["dnasa"]))
def test_the_methods_themselves_are_their_rules(name):
    rule_of(name)(algorithms[name])


@pytest.mark.thorough
@pytest.mark.parametrize("cls", [averages.Averages, normalised.Normalises])
def test_what_mutants_are_made_of_is_sound(cls):
    rule_of(cls.declaration.name)(cls)
