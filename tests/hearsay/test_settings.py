"""Python values become words that Hydra reads as the same values."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hydra.core.override_parser.overrides_parser import OverridesParser

from bench.base.errors import UserError
from hearsay.settings import words


def read(value):
    (word,) = words({"name": value})
    return OverridesParser.create().parse_override(word).value()


@pytest.mark.parametrize(
    "value",
    [
        *(
            "ring",
            "paper/speedup",
            "net:Net",
            "~/data",
            "/tmp/a b.csv",
            "a b",
            "a,b",
            "it's",
            "a=b",
            "ρ",
            "x" * 300,
            "",
        ),
        *("1", "-1", "1e3", "true", "null", "inf", "[x]", "{a:1}", "${nodes}", "a\\", "\\'", "a\\b", "(", "#", "%"),
    ],
)
def test_texts_stay_texts(value):
    found = read(value)
    assert getattr(found, "text", found) == value


@pytest.mark.parametrize("value", [1, -3, 0.1, 1e-300, 1e20, True, False, None, float("inf")])
def test_numbers_stay_numbers(value):
    assert read(value) == value
    assert type(read(value)) is type(value)


def test_a_list_is_a_sweep_and_a_list_in_it_a_value():
    assert words({"seed": range(3), "algo": ("a", "b")}) == ["seed=0,1,2", "algo=a,b"]
    assert words({"eta": np.array([0.1, 1.0])}) == ["eta=0.1,1.0"]
    assert words({"steps": np.int64(3)}) == ["steps=3"]
    assert words({"engine.launch": [["mpiexec", "-n"]]}) == ["engine.launch=[mpiexec,'-n']"]
    assert words({"data_dir": Path("x")}) == ["data_dir=x"]
    assert words({"model.kwargs": {"width": 8}}) == ["model.kwargs={width:8}"]


@pytest.mark.parametrize(("value", "shown"), [([], "name"), (object, "object"), ([b"x"], "bytes")])
def test_rejects_values_that_no_setting_has(value, shown):
    with pytest.raises(UserError, match=shown):
        words({"name": value})


@pytest.mark.parametrize("number", [0.001, 3, True])
def test_an_array_of_one_number_is_the_number(number):
    assert read(np.array(number)) == number
    assert words({"name": [np.array(number), 2]}) == [f"name={str(number).lower()},2"]


def test_short_floats_are_the_numbers_that_they_are_written_as():
    assert words({"algo.eta": np.array([0.1, 0.3], dtype=np.float32)}) == ["algo.eta=0.1,0.3"]
    assert words({"algo.eta": np.float16(0.1)}) == words({"algo.eta": np.float64(0.1)}) == ["algo.eta=0.1"]
    assert words({"algo.eta": torch.tensor(0.1, requires_grad=True)}) == ["algo.eta=0.1"]
    assert words({"algo.eta": torch.tensor([0.1, 0.3]).half()}) == ["algo.eta=0.1,0.3"]
    assert words({"algo.eta": [torch.tensor(0.1, dtype=torch.float64), torch.tensor(2)]}) == ["algo.eta=0.1,2"]
