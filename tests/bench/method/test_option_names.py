"""Names of options that a method cannot have."""

import pytest

from bench.base.errors import UserError
from bench.base.registry import algorithms
from bench.method import Algorithm, algorithm


def registered(**body):
    try:
        return algorithm("named", vectors_per_step=1, cite="nobody")(type("Named", (Algorithm,), body))
    finally:
        algorithms._items.pop("named", None)


@pytest.mark.parametrize("word", ["options", "stepsizes", "declare", "name", "properties", "defaults", "step"])
def test_rejects_options_with_names_of_the_base_class(word):
    with pytest.raises(UserError, match=f"^named .*'{word}'"):
        registered(**{word: 1.0, "__annotations__": {word: float}})


def test_rejects_an_option_of_the_stepsizes_called_name():
    with pytest.raises(UserError, match="'name'"):
        registered(stepsizes=staticmethod(lambda at, eta=0.1, name=1.0: {"eta": eta}))


@pytest.mark.parametrize("word", ["coin", "eta0", "option"])
def test_accepts_other_options(word):
    assert word in registered(**{word: 1.0, "__annotations__": {word: float}}).options()
