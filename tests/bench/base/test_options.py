from typing import Literal

import pytest

from bench.base.errors import UserError
from bench.base.options import Option, coerce, convert, keyword_options


def test_options_are_the_keyword_parameters():
    def graph(nodes: int, p: float = 0.8, seed: int | None = None): ...

    assert keyword_options(graph) == {"p": Option(float, 0.8), "seed": Option(int | None, None)}


@pytest.mark.parametrize(
    ("value", "to", "expected"),
    [
        (3, float, 3.0),
        (3.0, int, 3),
        (None, int | None, None),
        (4, int | None, 4),
        ("a", Literal["a", "b"], "a"),
        (3, float | str | None, 3.0),
        ("b", float | str | None, "b"),
    ],
)
def test_conversions(value, to, expected):
    converted = convert(value, to, "x")
    assert converted == expected
    assert type(converted) is type(expected)


@pytest.mark.parametrize(
    ("value", "to", "sentence"),
    [
        ("abc", float, "algo.eta must be a number; got 'abc'"),
        (True, float, "must be a number"),
        (float("nan"), float, "must be a number"),
        (float("inf"), int, "must be a whole number"),
        (3.5, int, "must be a whole number; got 3.5"),
        ("yes", bool, "must be true or false"),
        ("c", Literal["a", "b"], "must be one of a, b; got 'c'"),
        (None, int, "must be a whole number"),
    ],
)
def test_wrong_values_get_a_sentence(value, to, sentence):
    with pytest.raises(UserError, match=sentence):
        convert(value, to, "algo.eta")


def test_unknown_options_are_refused_with_the_known_ones():
    with pytest.raises(UserError, match=r"algo=dsgd .*'algo.etaa'.*'eta'.* eta."):
        coerce({"eta": Option(float, 0.1)}, {"etaa": 1}, "algo.", "algo=dsgd")
