"""Where the rule of a method was read, and whether a ranking may include the method."""

import pytest

from bench.base.errors import UserError
from bench.base.provenance import MARKS
from bench.base.registry import algorithms
from bench.method import Algorithm, algorithm
from bench.method.properties import Properties


def properties(**given):
    return Properties(name="x", vectors_per_step=1, cite="nobody", label="x", family="x", **given)


@pytest.mark.parametrize(
    ("given", "mark"),
    [
        ({"provenance": "paper"}, ""),
        ({"provenance": "code"}, ""),
        ({"provenance": "reconstructed"}, "†"),
        ({}, "†"),
        ({"provenance": "paper", "published": False}, "‡"),
        ({"published": False}, "‡"),
    ],
)
def test_only_published_methods_with_a_verified_rule_are_rankable(given, mark):
    found = properties(**given)
    assert (found.mark, found.rankable) == (mark, not mark)
    assert not mark or MARKS[mark]


def test_a_method_without_provenance_still_loads(monkeypatch):
    class Old(Algorithm): ...

    monkeypatch.setattr(algorithms, "_items", dict(algorithms._items))
    algorithm("old_plugin", vectors_per_step=1, cite="nobody", source="somewhere")(Old)
    assert algorithms["old_plugin"].properties.provenance == "unstated"


def test_rejects_an_unknown_provenance():
    with pytest.raises(UserError, match=r"'hearsay'.*'reconstructed'"):
        algorithm("x", vectors_per_step=1, cite="nobody", provenance="hearsay")
