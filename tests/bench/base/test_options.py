from typing import Any, Literal

import pytest

from bench.base.errors import UserError
from bench.base.options import Option, coerce, convert, keyword_options
from tests.helpers.configs import config


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
    ("value", "to"),
    [
        ("abc", float),
        (True, float),
        (float("nan"), float),
        (float("inf"), int),
        (3.5, int),
        ("yes", bool),
        ("c", Literal["a", "b"]),
        (None, int),
        (1 << 63, int),
        (-(1 << 63) - 1, int | None),
        (10**400, int),
        (10**400, float),
        (1 << 63, Any),
        (float("inf"), Any),
        (float("nan"), Any),
    ],
)
def test_rejects_invalid_values(value, to):
    with pytest.raises(UserError, match=rf"^algo\.eta .*{value!r}"):
        convert(value, to, "algo.eta")


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
def test_rejects_infinite_numbers_in_mappings(value):
    """JSON has none, so an order for a cluster would change them."""
    for kwargs in ({"limit": value}, {"limits": [1.0, value]}, {"limits": {"low": value}}):
        with pytest.raises(UserError, match=rf"^model\.kwargs\.limit.*{value!r}"):
            convert(kwargs, dict[str, Any], "model.kwargs")


@pytest.mark.parametrize("key", [1, 2.5, True, None])
def test_rejects_keys_that_are_no_text(key):
    for kwargs in ({"widths": {key: 16}}, {"widths": [{key: 16}]}):
        with pytest.raises(UserError, match=rf"^model\.kwargs\.widths .*{key!r}"):
            convert(kwargs, dict[str, Any], "model.kwargs")


def test_rejects_large_integers_of_every_setting():
    """Tables store integers of 64 bits."""
    last = (1 << 63) - 1
    assert config(seed=last).seed == last
    module = {"name": "module", "target": "tests.helpers.nets:Net", "kwargs": {"width": [last + 1]}}
    for settings in ({"seed": last + 1}, {"seed": 2.0**63}, {"steps": last + 1}, {"model": module}):
        with pytest.raises(UserError, match=str(last + 1)):
            config(**settings)
    assert convert(last + 1, float, "x") == 2.0**63


@pytest.mark.parametrize(("typed", "end"), [("etaa", r"'eta'\?"), ("size", r" eta\.")])
def test_rejects_unknown_options_with_the_similar_one_or_all(typed, end):
    with pytest.raises(UserError, match=rf"algo=dsgd .*'algo\.{typed}'.*{end}$"):
        coerce({"eta": Option(float, 0.1)}, {typed: 1}, "algo.", "algo=dsgd")


@pytest.mark.parametrize("option", ["adam.beta1", "dadam.beta2", "dadam_written.beta3", "prodigy.beta2", "dsgdm.beta"])
def test_decay_rates_are_at_least_0_and_less_than_1(option):
    algo, _, name = option.partition(".")
    assert config(algo={"name": algo, name: 0}).algo.options[name] == 0
    for value in (-0.1, 1, 1.5):
        with pytest.raises(UserError, match=rf"algo\.{name}.* {value}\."):
            config(algo={"name": algo, name: value})
