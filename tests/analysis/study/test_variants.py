"""Variants of methods: which one is shown, and where its values are named."""

import pytest

from analysis.study.figure_options import FigureOptions
from analysis.study.outcome import outcome
from analysis.study.select import VARIANTS, as_written
from analysis.study.variants import UNKNOWN, default_of
from analysis.tables import table_makers
from bench.config.choices import members, options_of
from tests.helpers.invented import made


def runs(values, algo="gt", option="form", **labels):
    """Two seeds with each of these values, and D-SGD."""
    cases = [(value, seed) for value in values for seed in (0, 1)]
    own = [{"algo": algo, "eta": 0.1, "seed": seed, option: value, "end": 0.4} for value, seed in cases]
    return [{**row, **labels} for row in [*own, *({"algo": "dsgd", "seed": seed, "end": 0.7} for seed in (0, 1))]]


def test_defaults_are_those_of_the_methods():
    for algo in members("algo"):
        declared = {name: option.default for name, option in options_of("algo", algo).items() if name != "eta"}
        assert {name: default_of(algo, name) for name in declared if default_of(algo, name) != declared[name]} == {}
    for foreign in ("../config", "a" * 300):
        assert default_of(foreign, "steps") is UNKNOWN


@pytest.mark.parametrize("values", [["atc", "semi"], ["semi", "atc"], ["awc", "semi", "atc"]])
def test_ties_go_to_the_default(values):
    results = made(runs(values))
    chosen, notes = as_written(results, results.finals)
    assert set(chosen.loc[chosen["algo"] == "gt", "form"]) == {"atc"}
    assert notes == [f"gt: {2 * len(values) - 2} {VARIANTS}"]


@pytest.mark.parametrize("order", [1, -1])
def test_ties_without_a_default_do_not_depend_on_the_order_of_the_runs(order):
    results = made(runs(["b", "a"], algo="mine", option="kind")[::order])
    chosen, notes = as_written(results, results.finals)
    assert set(chosen.loc[chosen["algo"] == "mine", "kind"]) == {"a"}
    assert any("kind=a" in note for note in notes)


def test_a_value_that_is_not_the_default_is_named():
    results = made(runs(["semi"]))
    _, (note,) = as_written(results, results.finals)
    assert "gt" in note
    assert "form=semi (default atc)" in note
    assert note in table_makers()["final"].make(results, FigureOptions()).notes
    assert "form=semi" in outcome(results)[-1]


def test_a_value_that_differs_between_problems_is_named_with_its_problem():
    results = made([*runs(["semi"]), *runs(["atc"], topology="complete")])
    notes = [note for note in table_makers()["final"].make(results, FigureOptions()).notes if "form" in note]
    assert len(notes) == 1
    assert "(topology=ring): form=semi" in notes[0]
    results = made([*runs([8], "mg_dsgd", "algo.rounds"), *runs([2], "mg_dsgd", "algo.rounds", nodes=4)])
    notes = [note for note in table_makers()["final"].make(results, FigureOptions()).notes if "rounds" in note]
    assert [note.partition(": ")[2] for note in notes] == ["algo.rounds=8 (default 4)", "algo.rounds=2 (default 4)"]


def test_marks_are_those_of_the_shown_runs():
    rows = [*runs([True], option="local_stepsizes"), *runs([False], option="local_stepsizes", topology="complete")]
    facts = [
        {"algorithm": {"name": row["algo"], "provenance": "reconstructed" if row.get("local_stepsizes") else "paper"}}
        for row in rows
    ]
    shown = table_makers()["final"].make(made(rows, facts), FigureOptions()).shown
    marks = {row["graph"]: row["method"] for row in shown.to_dict("records") if row["method"].startswith("gt")}
    assert marks == {"ring": "gt†", "complete": "gt"}


@pytest.mark.parametrize(("algo", "option", "value"), [("dsgt", "gossip", "twice"), ("dnasa", "multiplier", 2.0)])
def test_a_method_whose_runs_are_all_variants_is_shown_and_named(algo, option, value):
    results = made(runs([value], algo, option))
    chosen, notes = as_written(results, results.finals)
    assert len(chosen[chosen["algo"] == algo]) == 2
    assert any(f"{option}=" in note for note in notes)
    assert algo in set(table_makers()["final"].make(results, FigureOptions()).data["algo"])


def test_options_of_a_plugin_may_have_the_name_of_a_variant():
    results = made(runs([True], "mine", "average"))
    assert "mine" in set(table_makers()["final"].make(results, FigureOptions()).data["algo"])
