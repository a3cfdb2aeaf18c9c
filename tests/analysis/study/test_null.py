"""Options that are null in some runs and have a value in others."""

import itertools

import pytest

from analysis.report import report_data
from analysis.results.results import Results
from analysis.study.outcome import outcome
from analysis.study.select import VARIANTS, as_written, problems
from analysis.study.tuning import tuned_over
from tests.helpers.invented import made


def sweep(option: str, values: list, etas: tuple = (0.1, 0.2), seeds: tuple = (0, 1)) -> Results:
    """A second method, and one with these values of an option, each with its own result."""
    rows = [
        {"algo": "led", "eta": eta, "seed": seed, option: value, "end": 0.1 * (1 + place)}
        for (place, value), eta, seed in itertools.product(enumerate(values), etas, seeds)
    ]
    others = [{"algo": "dsgd", "eta": eta, "seed": seed, "end": 0.7} for eta in etas for seed in seeds]
    return made([*others, *rows])


@pytest.mark.parametrize(
    ("option", "values"),
    [
        ("b", [None, 0.3]),
        ("b", [0.3, None]),
        ("b", [None, 0.3, 0.5]),
        ("kind", [None, "x"]),
        ("kind", ["y", "x", None]),
    ],
)
def test_null_is_a_setting_of_its_own(option, values):
    results = sweep(option, values)
    chosen, notes = as_written(results, results.finals)
    ours = chosen[chosen["algo"] == "led"]
    assert ours[option].isna().all()
    assert len(ours) == 4
    named = [] if option == "b" else ["shown for led: kind=null"]  # b has the default null
    assert notes == [f"led: {4 * len(values) - 4} {VARIANTS}", *named]
    assert ours["test_loss"].tolist() == pytest.approx([0.1 * (1 + values.index(None))] * 4)
    assert [sentence.lower().rstrip(".") for sentence in outcome(results)[1:]] == named


def test_the_value_of_most_runs_excludes_null():
    few, many = sweep("b", [None], seeds=(5,)).runs, sweep("b", [0.3]).runs
    rows = [
        {**row, "run_id": f"r{k}", "end": 0.5}
        for k, row in enumerate([*few.to_dict("records"), *many.to_dict("records")])
    ]
    results = made(rows)
    chosen, _ = as_written(results, results.finals)
    assert set(chosen.loc[chosen["algo"] == "led", "b"]) == {0.3}


def older_and_newer(algo: str, option: str, value: object) -> Results:
    older = [{"algo": algo, "eta": 0.1, "seed": seed, "end": 0.5} for seed in (0, 1, 2)]
    newer = [{"algo": algo, "eta": 0.1, "seed": seed, option: value, "end": 0.4} for seed in (3, 4)]
    return made([*older, *newer, {"algo": "dnasa", "seed": 0, "end": 0.3}])


@pytest.mark.parametrize(
    ("algo", "option", "neutral", "other"),
    [
        ("dsgd", "order", "adapt_then_combine", "combine_then_adapt"),
        ("gt", "local_stepsizes", False, True),
        ("dsgd_clip", "clipping", "given", "decay"),
        ("dsgd_clip", "p", 2.0, 1.5),
    ],
)
def test_runs_older_than_an_option_have_its_neutral_value(algo, option, neutral, other):
    results = older_and_newer(algo, option, neutral)
    chosen, notes = as_written(results, results.finals)
    assert set(chosen.loc[chosen["algo"] == algo, "seed"]) == {0, 1, 2, 3, 4}
    assert not notes
    results = older_and_newer(algo, option, other)
    for one in (results.finals, results.finals[::-1]):
        chosen, _ = as_written(results, one)
        values = chosen.loc[chosen["algo"] == algo, option]
        assert option in tuned_over(results, chosen[chosen["algo"] == algo]) or set(values) == {neutral}


def test_runs_older_than_an_option_of_a_group_have_its_neutral_value():
    older = [{"algo": "dsgd", "topology": "edges", "eta": 0.1, "seed": seed, "end": 0.5} for seed in (0, 1)]
    results = made([*older, *({**older[0], "seed": 5, "topology.directed": directed} for directed in (True, False))])
    assert [len(runs) for _, runs in problems(results, results.finals)] == [3, 1]


def test_a_comparison_that_fails_does_not_end_the_report(monkeypatch):
    def fail(*_):
        raise ValueError("two runs are equal")

    monkeypatch.setattr(report_data, "outcome", fail)
    monkeypatch.setattr(report_data, "drawings", dict)
    report = report_data.gather_report(sweep("b", [0.3]))
    assert [one for one in report.warnings if "two runs are equal" in one]
    assert report.tables
