"""Wrong versions of the five methods of the paper: which check notices them, and which none does."""

import pytest

from bench.base.registry import algorithms
from bench.contracts import methods as contract
from bench.contracts.literal import literal
from tests.algorithms.literal import RULES
from tests.bench.contracts.mutants import MUTANTS, averages, normalized
from tests.helpers.few import few

CAUGHT = {
    "dsgd Ascends": "descent end centralized",
    "dsgd KeepsItsOwn": "asked_read average end centralized",
    "dsgd MixesTheGradient": "average end",
    "dsgd StaleGradient": "centralized",
    "dsgd LateStepsize": "centralized",
    "dsgd StepsTwice": "centralized",
    "dsgd AlwaysOneSample": "counts centralized",
    "dsgd KnowsTheMean": "locality",
    "dsgt AscendsTracking": "descent end centralized",
    "dsgt DropsTheTracker": "states_read asked_read end",
    "dsgt TrackerUnmixed": "asked_read end",
    "dsgt XUnmixed": "asked_read average end centralized",
    "dsgt TrackerBeginsAtZero": "states descent end centralized",
    "dsgt BothBeginAtZero": "asked_read centralized",
    "dsgt GradientBeforeTheStep": "centralized",
    "dsgt CombinesWhileAdapting": "centralized",
    "dsgt NothingTakenAway": "states centralized",
    "dsgt SampleAgain": "counts centralized",
    "dasagt AscendsTheAverage": "descent end",
    "dasagt AverageUnmixed": "asked_read",
    "dasagt TrackerOfTheAverageUnmixed": "asked_read end",
    "dasagt AveragesOwnGradients": "states_read asked_read end",
    "dasagt ForgetsNothing": "end",
    "dasagt AverageBeginsAtX": "average descent",
    "dnasa AscendsTheUnit": "descent end",
    "dnasa XOfItsOwn": "asked_read average bound",
    "dnasa ZOfItsOwn": "asked_read centralized",
    "dnasa UOfItsOwn": "asked_read",
    "dnasa NormalizesTheTracker": "states_read asked_read centralized",
    "dnasa NotNormalized": "scale",
    "dnasa MeanNorm": "locality bound",
    "dnasa EpsilonInTheNorm": "scale",
    "dnasa SignOfEveryNumber": "bound",
    "dnasa TwiceTheUnit": "bound",
    "dnasa ReadsTheMeanOfAll": "locality",
    "d2 IsDSGD": "states_read end",
    "d2 AscendsTwice": "descent end centralized",
    "d2 ForgetsTheOldStep": "states_read end centralized",
    "d2 OldGradientNewStepsize": "centralized",
    "d2 SignOfTheOldStep": "end centralized",
    "d2 SignOfTheMomentum": "descent end centralized",
    "d2 MixesXAlone": "average centralized",
    "d2 BeginsBesideZero": "average descent end centralized",
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
    except contract.CheckFailed:
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
def test_the_first_check_of_its_row_fails(name):
    assert notices(getattr(contract, CAUGHT[name].split()[0]), MUTANTS[name])


@pytest.mark.thorough
@pytest.mark.parametrize("name", MUTANTS)
def test_exactly_these_checks_fail(name):
    """All but ``rounding``, which is slow, and has its own tests."""
    checks = [check for check in contract.CHECKS if check is not contract.rounding]
    found = {check.__name__ for check in checks if notices(check, MUTANTS[name])}
    named = set(CAUGHT.get(name, "").split())
    assert named <= found  # what blows up may be noticed by more of them, as rounding has it
    assert bool(found) == bool(named)


@pytest.mark.parametrize("name", few(MUTANTS, [*SURVIVORS, "d2 IsDSGD"]))
def test_its_rule_detects_every_mutant(name):
    assert notices(rule_of(name), MUTANTS[name])


@pytest.mark.parametrize("name", few(["dsgd", "dsgt", "dasagt", "dnasa", "d2"], ["dnasa"]))
def test_the_methods_themselves_are_their_rules(name):
    rule_of(name)(algorithms[name])


@pytest.mark.thorough
@pytest.mark.parametrize("cls", [averages.Averages, normalized.Normalizes])
def test_the_bases_of_mutants_pass(cls):
    rule_of(cls.properties.name)(cls)
