"""Notes on the setting of a method for all values of a label."""

import itertools

import pytest

from analysis.study.families import at_most
from tests.helpers.invented import made
from tests.helpers.mentions import mentions


def found(etas: dict[str, list[float]], label: str = "scale", **more) -> list[dict]:
    return [
        {"algo": algo, "eta": eta, label: value, "end": 0.1, "accuracy": 80.0 - eta, **more}
        for algo, some in etas.items()
        for eta, value in itertools.product(some, (1.0, 4.0))
    ]


def notes_of(rows: list[dict], label: str = "scale") -> list[str]:
    results = made(rows)
    return at_most(label, results, results.finals)[2]


@pytest.mark.parametrize(
    ("label", "name"), [("scale", "c"), ("input_scale", "c"), ("links.p", "p"), ("network.slow", "slow factor")]
)
def test_a_single_setting_is_not_described_as_a_choice(label, name):
    notes = notes_of(found({"dsgd": [0.1], "dsgt": [1.0]}, label), label)
    assert notes == [f"the same stepsize for every {name}: D-SGD η=0.1; D-SGT η=1"]


def test_the_choice_has_a_sentence_of_its_own():
    settings, choice = notes_of(found({"dsgd": [0.1, 1.0], "dsgt": [1.0]}))
    first, second = settings.split("; ")
    assert mentions(first, "every c", "D-SGD η=0.1", "edge", "grid")
    assert second == "D-SGT η=1 (the only value run)"
    assert mentions(choice, "best", "final test accuracy", "test set", "values of c")
    assert ": " not in choice


def test_a_value_that_was_run_with_fewer_factors_makes_no_choice():
    (settings,) = notes_of([*found({"dsgd": [0.1]}), *found({"dsgd": [1.0]})[:1]])
    assert settings == "the same stepsize for every c: D-SGD η=0.1"


def test_a_single_setting_that_diverged_is_named():
    rows = found({"dsgd": [0.1]})
    (settings,) = notes_of([rows[0], {**rows[1], "state": "nonfinite", "accuracy": None}])
    assert settings == "the same stepsize for every c: D-SGD η=0.1 (diverged for some c)"


def test_only_a_value_without_any_other_is_called_the_only_one():
    (settings, _) = notes_of([*found({"dsgd": [0.1, 1.0], "dsgt": [0.1]}), *found({"dsgt": [1.0]})[:1]])
    assert mentions(settings, "D-SGD η=0.1", "edge")
    assert settings.endswith("; D-SGT η=0.1")
