"""Table 1 of the paper, and the rest of what the methods declare."""

import re
from dataclasses import replace

import pytest

from bench.base.errors import UserError
from bench.base.registry import algorithms
from bench.method import Algorithm, algorithm

SMOOTHNESS_AND = {word: tuple(sorted(("smoothness", word))) for word in ("variance", "topology")}

#        sends samples start needs                        assumes                     estimates bounded lambda_min
TABLE = {
    "dsgd": (1, 1, 0, SMOOTHNESS_AND["variance"], ("bounded heterogeneity",), None, False, None),
    "dsgt": (2, 1, 1, SMOOTHNESS_AND["topology"], (), "u", False, None),
    "dasagt": (3, 1, 0, SMOOTHNESS_AND["topology"], (), "z", False, None),
    "dnasa": (3, 1, 0, (), (), "z", True, None),
    "d2": (1, 1, 0, SMOOTHNESS_AND["topology"], (), None, False, -1 / 3),
}


@pytest.mark.parametrize("name", TABLE)
def test_declaration(name):
    d = algorithms[name].properties
    declared = (
        d.vectors_per_step,
        d.samples,
        d.start_samples,
        d.needs,
        d.assumes,
        d.estimates,
        d.bounded_step,
        d.lambda_min,
    )
    assert declared == TABLE[name]
    assert d.rounds == 1
    assert any(year in d.cite for year in ("2017", "2018", "2023", "2024"))


@pytest.mark.parametrize(
    ("name", "options", "promised"),
    [
        ("dsgd", {"gossip": "twice"}, {"vectors_per_step": 2, "rounds": 2}),
        ("dsgt", {"gossip": "twice"}, {"vectors_per_step": 3, "rounds": 2}),
        ("dnasa", {"normalize": "tensor", "average": "tracker"}, {"bounded_step": False}),
    ],
)
def test_variants_promise_what_they_cost(name, options, promised):
    declared = algorithms[name].declare(**options)
    assert {key: getattr(declared, key) for key in promised} == promised
    assert replace(declared, **{key: getattr(algorithms[name].properties, key) for key in promised}) == (
        algorithms[name].properties
    )


READ_IN = {
    "paper": r"arXiv:\d{4}\.\d{5}|Algorithm \d|equations? \(\d",
    "code": r"github\.com/[\w.-]+/[\w.-]+, commit [0-9a-f]{7}\b",
    "reconstructed": r"\w",
}


@pytest.mark.parametrize("name", list(algorithms))
def test_every_method_of_the_suite_states_where_its_rule_was_read(name):
    declared = algorithms[name].properties
    assert re.search(READ_IN[declared.provenance], declared.source), declared.source
    assert declared.rankable == (declared.published and declared.provenance in ("paper", "code"))
    if re.search(r"\bmemory\b|\bsummary\b", declared.source) and name != "docom":  # whose other order is from memory
        assert not declared.rankable


def test_an_option_may_have_a_provenance_of_its_own():
    written, released = (algorithms["dadam_written"].declare_for({"variant": v}) for v in ("written", "released"))
    assert (written.rankable, released.rankable) == (False, True)


def test_only_known_information_can_be_needed():
    with pytest.raises(UserError, match=r"wealthy .*'money'"):

        @algorithm("wealthy", vectors_per_step=1, needs={"money"}, cite="nobody")
        class Wealthy(Algorithm): ...
