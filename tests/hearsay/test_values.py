"""Values of a notebook and of its module: equal ones, and different ones of each type."""

import copy
import linecache
import re
from argparse import Namespace
from collections import Counter, OrderedDict, deque
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from omegaconf import OmegaConf

from bench.base.errors import UserError
from hearsay.values import check_equal, described


@dataclass
class Options:
    gain: float


@dataclass(slots=True)
class Slots:
    gain: float


class Plain:
    def __init__(self, gain):
        self.gain = gain


def linear(weight):
    made = torch.nn.Linear(1, 1, bias=False)
    with torch.no_grad():
        made.weight.fill_(weight)
    return made


def check(notebook, module):
    mine, theirs = {"__name__": "__main__", "x": notebook}, {"__name__": "cell", "x": module}
    check_equal(described(["x", "absent"], theirs), theirs, mine)


def defined(text, home):
    """Execute a statement as a part of a cell, with its source."""
    values, file = {"__name__": home}, f"<{home} {text}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), values)
    return values["x"]


PAIRS = [
    (float("nan"), 1.0),
    (1, 1.0),
    ("a", "b"),
    ({"a": [1, (2, {3})]}, {"a": [1, (2, {4})]}),
    (OrderedDict(a=1), {"a": 1}),
    (np.array([1.0, np.nan]), np.array([1.0, 2.0])),
    (np.zeros((2, 3)), np.zeros((3, 2))),
    (np.array(["a", None], dtype=object), None),
    (torch.tensor([1.0], requires_grad=True), torch.tensor([2.0])),
    (torch.ones(2, dtype=torch.bfloat16), torch.zeros(2, dtype=torch.bfloat16)),
    (SimpleNamespace(gain=1.0), SimpleNamespace(gain=2.0)),
    (Options(1.0), Options(2.0)),
    (Slots(1.0), Slots(2.0)),
    (Plain(1.0), Plain(2.0)),
    (Plain({"a": Plain(1)}), Plain({"a": Plain(2)})),
    (Namespace(gain=1.0), Namespace(gain=2.0)),
    (OmegaConf.create({"gain": 1.0}), OmegaConf.create({"gain": 2.0})),
    (pd.DataFrame({"a": [1.0, 2.0]}), pd.DataFrame({"a": [0.0, 2.0]})),
    (pd.DataFrame({"a": ["b", None]}), pd.DataFrame({"c": ["b", None]})),
    (pd.Series([1, 2], index=["a", "b"]), pd.Series([1, 2], index=["a", "c"])),
    (np.array([1, "a", None], dtype=object), np.array([2, "a", None], dtype=object)),
    (np.random.default_rng(0), np.random.default_rng(1)),
    (linear(1.0), linear(2.0)),
    (Counter("aab"), Counter("abb")),
    (deque([1, 2]), deque([1, 3])),
    (partial(round, ndigits=1), partial(round, ndigits=2)),
    (Fraction(1, 2), Fraction(1, 3)),
    (re.compile("a"), re.compile("b")),
]


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_different_values_are_rejected_and_equal_ones_are_not(one, other):
    check(one, one)
    check(copy.deepcopy(one), one)
    with pytest.raises(UserError, match="x"):
        check(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("def x(a, b=1):\n    return lambda: a + 2", "def x(a, b=2):\n    return lambda: a + 2"),
        ("def x(a):\n    return lambda: a + 2", "def x(a):\n    return lambda: a + 3"),
        ("class x:\n    @property\n    def f(self): return 1", "class x:\n    @property\n    def f(self): return 2"),
        ("def x(a):\n    return math.exp(a + 1)", "def x(a):\n    return math.exp(a - 1)"),
        ("class x(list): a = 1", "class x(dict): a = 1"),
        ("class x:\n    def __call__(self): return 1", "class x:\n    def __call__(self): return 2"),
    ],
)
def test_definitions_are_compared_by_their_source(one, other):
    check(defined(one, "__main__"), defined("import math\n\n" + one, "cell"))
    with pytest.raises(UserError, match="x"):
        check(defined(one, "__main__"), defined(other, "cell"))


def containing_itself(*items):
    made = [*items]
    made.append(made)
    return made


def test_containers_that_contain_themselves_are_compared():
    check(containing_itself(1), containing_itself(1))
    with pytest.raises(UserError, match="x"):
        check(containing_itself(), containing_itself(1))


class Node:
    def __init__(self, gain):
        self.gain, self.neighbors, self.data = gain, set(), []


def all_connected(nodes, gain):
    made = [Node(gain) for _ in range(nodes)]
    for node in made:
        node.neighbors = {other for other in made if other is not node}
    return made


@pytest.mark.timeout(20)
def test_objects_that_refer_to_each_other_are_described_in_short_time():
    check(all_connected(4, 1.0), all_connected(4, 1.0))
    with pytest.raises(UserError, match="x"):
        check(all_connected(4, 1.0), all_connected(4, 2.0))
    check(all_connected(12, 1.0), all_connected(12, 1.0))  # too many paths: compared by the type
    with pytest.raises(UserError, match="x"):
        check(all_connected(12, 1.0), (1.0,))


@pytest.mark.timeout(20)
def test_objects_that_others_share_are_described_once():
    def layered(leaf):
        for _ in range(60):
            leaf = Plain([leaf, {"both": (leaf, leaf)}])
        return leaf

    check(layered(1.0), layered(1.0))
    with pytest.raises(UserError, match="x"):
        check(layered(1.0), layered(2.0))
    check([one := [1.0], one], [[1.0], [1.0]])


class Base:
    __slots__ = ("gain",)


class Cached(Base):
    def __init__(self, gain):
        self.gain, self.shift = gain, 0.0

    @cached_property
    def double(self):
        return 2 * self.gain


class Open(Plain):
    double = Cached.double

    def __reduce__(self):
        raise TypeError("cannot be copied")


@pytest.mark.parametrize("made", [Cached, Open])
def test_values_of_cached_properties_are_no_difference(made):
    one = made(1.0)
    assert one.double == vars(one)["double"] == 2.0
    check(one, made(1.0))
    with pytest.raises(UserError, match="x"):
        check(one, made(2.0))


def test_other_objects_are_compared_by_their_type(tmp_path):
    with (tmp_path / "a").open("w") as one, (tmp_path / "b").open("w") as other:
        check(one, other)
        one.write("still open")
