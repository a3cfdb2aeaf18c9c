"""Wrong versions of shipped methods: which check notices them, and which none does."""

import re
from collections import Counter

import pytest

from bench.base.registry import algorithms
from bench.contracts import methods as contract
from bench.contracts.literal import literal
from tests.algorithms.literal import RULES
from tests.bench.contracts.mutants import MUTANTS, averages, normalized, released
from tests.helpers.cli import ROOT
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
    "sgp GradientAtMass": "rest",
    "sgp NeverDivides": "states_read asked_read average rest end",
    "sgp WeightUnpushed": "asked_read average rest end",
    "push_diging TrackerAtMass": "rest end",
    "push_pull StepAfterPulling": "centralized",
    "gt_hsgd TwoSamples": "counts",
    "storm TwoSamples": "counts",
    "deepstorm TwoSamples": "counts",
    "adamdos TwoSamples": "counts",
    "docom TwoSamples": "counts",
    "gt_hsgd SignOfTheCorrection": "estimate",
    "storm EstimateUnmixed": "asked_read end centralized",
    "motef MoTEFReleased": "states compression end",
    "fspda FSPDAReleased": "states end",
    "detag DeTAGStart": "states end",
    "choco OwnUncompressedH": "compression",
    "choco NoMemoryH": "compression states_read",
    "beer OwnUncompressedH": "compression",
    "beer NoMemoryH": "compression",
    "beer OwnUncompressedQ": "compression",
    "docom OwnUncompressedH": "compression",
    "docom NoMemoryH": "compression",
    "docom OwnUncompressedQ": "compression",
    "motef OwnUncompressedH": "compression",
    "motef NoMemoryH": "compression",
    "motef OwnUncompressedQ": "compression",
}
"""Every check that notices it, in the contract's order."""
SURVIVORS = {
    "dsgd WrongExponent": "another schedule of the stepsize or of a weight",
    "dnasa LateAlpha": "another schedule of the stepsize or of a weight",
    "dnasa HalfInThePlaceOfThreeQuarters": "another schedule of the stepsize or of a weight",
    "dasagt AlphaForgotten": "another stepsize or averaging weight",
    "dasagt WeightsSwapped": "another stepsize or averaging weight",
    "gt_hsgd GTHSGDDead": "another stepsize or averaging weight",
    "dasagt AveragesTheOldTracker": "another valid vector in an average",
    "gt_hsgd NewPointTwice": "another valid vector in an average",
    "adamdos SquareOfTheTracker": "another valid vector in an average",
    "detag DeTAGBuffer": "slower accelerated gossip",
    "beer NoMemoryQ": "a compressed tracker without error feedback",
    "docom NoMemoryQ": "a compressed tracker without error feedback",
    "motef NoMemoryQ": "a compressed tracker without error feedback",
}
"""No check of the contract notices them, only their rules. The kinds are rows of a table in CONTRIBUTING.md."""
COPIES = {f"{cls.properties.name} {cls.__name__}" for cls in released.COPIES}
"""Their rules are compared under compressors, in tests/algorithms/test_compressed.py."""
QUICK = {*CAUGHT} - COPIES | {"choco OwnUncompressedH", "beer OwnUncompressedQ"}


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
    assert len(CAUGHT) >= 0.8 * len(MUTANTS)


def test_the_documentation_counts_caught_and_missed_mutants():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text[text.index("### Errors that the checks cannot detect") :].split("\n### ")[0]
    assert f"{len(CAUGHT)} of {len(MUTANTS)} wrong versions" in " ".join(section.split())
    rows = re.findall(r"^\| ([^|]+) \| (\d+) \|", section, re.MULTILINE)
    assert {kind: int(count) for kind, count in rows} == Counter(SURVIVORS.values())


@pytest.mark.parametrize("name", few(CAUGHT, QUICK))
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


@pytest.mark.parametrize("name", few(sorted({*MUTANTS} - COPIES), {*SURVIVORS, "d2 IsDSGD"} - COPIES))
def test_its_rule_detects_every_mutant(name):
    assert notices(rule_of(name), MUTANTS[name])


@pytest.mark.parametrize("name", few(["dsgd", "dsgt", "dasagt", "dnasa", "d2"], ["dnasa"]))
def test_the_methods_themselves_are_their_rules(name):
    rule_of(name)(algorithms[name])


@pytest.mark.thorough
@pytest.mark.parametrize("cls", [averages.Averages, normalized.Normalizes])
def test_the_bases_of_mutants_pass(cls):
    rule_of(cls.properties.name)(cls)
