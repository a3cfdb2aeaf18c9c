"""Tables and sentences of invented runs: what is chosen, on which seeds, and what is said of it."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from analysis.figures import drawings
from analysis.results.results import Results
from analysis.study.figure_options import FigureOptions
from analysis.study.outcome import outcome
from analysis.study.reported import best_of_all, reported_all
from analysis.study.seeds import different_seeds
from analysis.study.select import reference
from analysis.study.statistics import HELD_OUT, mean, paired
from analysis.study.statistics.best import CROSSED
from analysis.tables import table_makers
from analysis.tables.digits import best
from analysis.tables.final import UNEQUAL
from tests.helpers.grids import Values
from tests.helpers.invented import made
from tests.helpers.mentions import mentions

DNASA = [85.0, 85.2, 84.9, 85.1, 85.3]
DSGD: dict[float, Values] = {0.1: [90.0, 84.0, 84.0, 84.0, 84.0], 1.0: [84.0, 85.0, 85.0, 85.0, 85.0]}
DSGT: dict[float, Values] = {0.1: [83.0, 84.0, 83.0, 84.0, 83.0], 1.0: [80.0, 81.0, 80.0, 82.0, 80.0]}


def rows(algo: str, by_value: dict[float, Values], option: str = "eta", **more) -> list[dict]:
    return [
        {"algo": algo, option: value, "seed": seed, "end": 1 - accuracy / 100, "accuracy": accuracy, **more}
        for value, some in by_value.items()
        for seed, accuracy in enumerate(some)
    ]


def untuned(accuracies: Values = DNASA, **more) -> list[dict]:
    return [{key: v for key, v in row.items() if key != "eta"} for row in rows("dnasa", {0.0: accuracies}, **more)]


@pytest.fixture(scope="module")
def three() -> Results:
    return made([*untuned(), *rows("dsgd", DSGD), *rows("dsgt", DSGT)])


def final(results: Results, **request):
    table = table_makers()["final"].make(results, FigureOptions(**request))
    return table, table.data.set_index("algo")


def test_the_number_of_a_tuned_method_is_cross_fitted(three):
    table, data = final(three)
    # D-SGD: at seed 0 the others choose η = 1, with 84 there; at any other they choose 0.1, by 85.5 against 84.75
    assert data.loc["dsgd", "test_accuracy"] == pytest.approx(np.mean([84, 84, 84, 84, 84]))
    assert data.loc["dsgd", "eta"] == 0.1  # what all seeds choose: 85.2 against 84.8
    assert data.loc["dsgd", "seeds"] == "0–4 (cross-fitted; another setting at 0)"
    assert data.loc["dnasa", "seeds"] == "0–4"
    assert HELD_OUT in table.notes
    assert mentions(table.notes[0], "test accuracy", "on the test set")


def test_the_differences_of_a_table_hold_together(three):
    table, data = final(three)
    ours = three.finals[three.finals["algo"] == "dnasa"].set_index("seed")["test_accuracy"]
    theirs = reported_all(three, three.finals)["dsgt"].values("test_accuracy")
    assert theirs.tolist() == DSGT[0.1]
    two = paired(ours, theirs, family=2)  # D-SGD and D-SGT
    found = data.loc["dsgt", ["reference_minus", "reference_minus_low", "reference_minus_high"]]
    assert found.tolist() == pytest.approx([two.value, two.low, two.high])
    assert two.low < paired(ours, theirs).low
    assert any("Bonferroni" in note for note in table.notes)
    robust = table_makers()["robustness"].make(three, FigureOptions()).data.set_index("algo")
    assert robust.loc["dsgt", ["low", "high"]].tolist() == pytest.approx([two.low, two.high])


def test_validation_data_choose_where_every_run_has_them(three):
    """By the test set η = 0.1 is D-SGT's best, by validation η = 1."""
    by = {0.1: 70.0, 1.0: 75.0}
    tuned = [{**row, "validation": by[row["eta"]]} for row in rows("dsgt", DSGT)]
    both = [{**row, "validation": 80.0} for row in untuned()]
    table, data = final(made([*both, *tuned]))
    assert (data.loc["dsgt", "eta"], data.loc["dsgt", "test_accuracy"]) == (1.0, pytest.approx(80.6))
    assert data.loc["dsgt", "reference_minus"] == pytest.approx(85.1 - 80.6)  # of the test set, which did not choose
    assert "final validation accuracy" in table.notes[0]
    lacking = [{**row, "validation": None} if row["seed"] == 3 else row for row in tuned]
    table, data = final(made([*both, *lacking]))
    assert data.loc["dsgt", "eta"] == 0.1
    assert mentions(table.notes[0], "test accuracy", "on the test set")
    losses = made([*both, *({**row, "validation": -row["validation"]} for row in tuned)])  # less is better
    losses = replace(losses, rows=losses.rows.rename(columns={"val_accuracy": "val_loss"}))
    table, data = final(losses)
    assert data.loc["dsgt", "eta"] == 1.0
    assert "final validation loss" in table.notes[0]


def test_the_best_method_is_chosen_on_other_seeds_too(three):
    best = best_of_all(three, three.finals, but=("dnasa",))
    assert best.best.values == {"algo": "dsgd", "eta": 0.1}  # 85.2, against 83.4 of D-SGT
    assert best.runs["algo"].unique().tolist() == ["dsgd"]
    assert best.values("test_accuracy").tolist() == [84.0] * 5
    everything = best_of_all(three, three.finals)  # without seed 0 that of D-NASA, 85.1, beats 85 and 84
    assert everything.best.values == {"algo": "dsgd", "eta": 0.1}
    assert everything.values("test_accuracy")[0] == DNASA[0]
    assert best_of_all(three, three.finals, but=("dnasa", "dsgd", "dsgt")) is None


def test_who_ends_best_by_the_seeds_that_did_not_choose(three):
    (sentence,) = outcome(three)
    half = mean(np.array(DNASA)).high - 85.1
    assert sentence.startswith("D-NASA ")
    assert mentions(sentence, "highest test accuracy", "a9a, ring", f"85.10 ± {half:.2f} % (5 seeds)")
    assert mentions(sentence, "5 seeds", "D-SGD (η = 0.1)", "84.00 %")
    close = made([*untuned(), *rows("dsgd", {0.1: [value + 0.2 * (-1) ** seed for seed, value in enumerate(DNASA)]})])
    assert outcome(close)[0].startswith("No significant difference ")
    assert mentions(outcome(close)[0], "a9a, ring", "D-SGD (η = 0.1)", "D-NASA", "85.10 % (5 seeds)")
    few = made([*untuned(DNASA[:4]), *rows("dsgd", {0.1: [80.0] * 4})])
    assert mentions(outcome(few)[0], " % (4 seeds, ", "D-SGD (η = 0.1)", "80.00 %")
    single = made([*untuned(DNASA[:1]), *rows("dsgd", {0.1: [80.0]})])
    assert " % (1 seed, " in outcome(single)[0]


def test_the_headline_of_two_problems_counts_them():
    def on_two(theirs, seeds=5):
        return made(
            [
                row
                for nodes in (4, 8)
                for row in (
                    *untuned(DNASA[:seeds], nodes=nodes),
                    *rows(
                        "dsgd", {0.1: [value + theirs(seed) for seed, value in enumerate(DNASA[:seeds])]}, nodes=nodes
                    ),
                )
            ]
        )

    headline, first, _ = outcome(on_two(lambda seed: -2))
    assert headline.startswith("D-NASA ")
    assert headline.endswith(" 2 of 2 problems.")
    assert mentions(first, "D-NASA", "highest test accuracy", "a9a, ring, nodes 4", "85.10 ±")
    tied = outcome(on_two(lambda seed: 0.2 * (-1) ** seed))[0]
    assert tied.startswith("No significant difference ")
    assert mentions(tied, "D-NASA and D-SGD", "2 of 2")
    assert mentions(outcome(on_two(lambda seed: -2, seeds=3))[0], "D-NASA", "2 of 2", "5 seeds", "not tested")


def test_what_is_said_of_many_settings():
    lead = {4: 1.0, 6: 2.0, 8: 3.0, 10: 2.0}
    some = [
        row
        for nodes, points in lead.items()
        for row in (*untuned(nodes=nodes), *rows("dsgd", {0.1: [value - points for value in DNASA]}, nodes=nodes))
    ]
    said = outcome(made(some))
    assert mentions(said[0], "D-NASA", "highest test accuracy", "4 of 4")
    assert mentions(said[2], "4 problems", "test accuracy", "D-NASA", "2.00 points above")
    assert " (95 % interval +0." in said[2]  # ± 3.18 · 0.82 / 2, about
    losses = made([{key: value for key, value in row.items() if key != "accuracy"} for row in some])
    ours = 1 - np.array(DNASA) / 100
    ratio = np.exp(np.mean([np.mean(np.log(ours) - np.log(ours + points / 100)) for points in lead.values()]))
    assert mentions(outcome(losses)[2], "test loss", "D-NASA", f" {ratio:.3g} times (95 %")
    assert ratio < 1  # ours over theirs, and ours is the lower loss


def test_what_blew_up_or_ended_above_its_start_is_counted():
    tuned = rows("dsgd", {0.1: [80.0] * 5, 1.0: [81.0] * 5, 10.0: [50.0] * 5, 100.0: [40.0] * 5})
    ends = [{**row, "train": 1.5 if row["eta"] == 10.0 else 0.5} for row in tuned]
    ends[-1] |= {"train": 500.0}  # an older run: called done
    ends[-2] |= {"state": "diverging", "train": 500.0}
    ends[-3] |= {"state": "nonfinite", "accuracy": None}
    table = table_makers()["robustness"].make(made([*untuned(), *ends]), FigureOptions())
    (row,) = table.shown.to_dict("records")
    assert (row["diverged"], row["ended above its start"]) == ("3 of 20", "5 of 20")
    assert row["lost at ten times"] == "31.00 ± 0.00"
    assert row["lost at a tenth"] == "1.00 ± 0.00"


def test_a_swept_multiplier_is_a_stepsize_like_any_other():
    swept = rows("dnasa", {0.1: [70.0] * 5, 1.0: DNASA, 10.0: [86.0] * 5}, "multiplier")
    results = made([*swept, *rows("dsgd", DSGD)])
    assert final(results)[1].loc["dnasa", "test_accuracy"] == pytest.approx(85.1)  # untuned, it has the multiplier 1
    table = table_makers()["robustness"].make(results, FigureOptions())
    data = table.data.set_index("algo")
    assert (data.loc["dnasa", "option"], data.loc["dnasa", "multiplier"]) == ("multiplier", 10.0)
    assert data.loc["dnasa", "accuracy"] == 86.0
    assert data.loc["dnasa", "reference_minus"] == pytest.approx(85.1 - 86)  # what not to tune costs
    assert "D-NASA (multiplier)" in table.shown["method"].tolist()
    two = made([*(row for row in swept if row["multiplier"] < 10), *rows("dsgd", DSGD)])
    assert table_makers()["robustness"].make(two, FigureOptions()).data["algo"].tolist() == ["dsgd"]  # no sweep


def test_the_table_of_robustness_names_the_variants_that_it_leaves_out():
    rows = [
        {"algo": "dsgd", "eta": eta, "seed": seed, "form": form, "end": 0.1, "accuracy": 80.0 + eta}
        for eta, seed, form in itertools.product((0.1, 1.0), range(2), ("late", "early"))
    ]
    notes = table_makers()["robustness"].make(made(rows[:-1]), FigureOptions()).notes
    assert any("left out: D-SGD" in note for note in notes), notes
    assert any("form=late" in note for note in notes), notes


HARD = {seed: 30.0 * (seed < 3) for seed in range(10)}
"""The loss in accuracy at each seed, for all methods: the first three seeds are hard."""


def unequal() -> list[dict]:
    """D-NASA is better by 0.4 at every seed, but D-SGD is reported on the easy seeds alone."""
    ours = untuned([80.4 - HARD[seed] + 0.01 * (seed % 2) for seed in range(10)])
    tuned = rows("dsgd", {0.1: [80.0 - HARD[seed] for seed in range(10)], 1.0: [20.0, 20.0, 20.0]})
    return [*ours, *tuned]


def test_methods_are_compared_on_common_seeds():
    found = made(unequal())
    sentence = outcome(found)[0]
    assert mentions(sentence, "D-NASA reaches the highest", "80.4", "7 seeds", "D-SGD (η = 0.1) ends at 80.00 %")
    table, data = final(found)
    assert data.loc["dsgd", "test_accuracy"] > data.loc["dnasa", "test_accuracy"]  # over other seeds
    assert UNEQUAL in table.notes
    shown = table.shown.reset_index(drop=True)
    assert not [column for _, column in best(shown) if column == "test accuracy"]
    assert reference(made([*unequal(), *rows("dsgt", {0.1: [10.0] * 10})])) == "dnasa"


def test_a_method_that_lacks_seeds_is_named_and_not_compared():
    one = {"algo": "quick", "seed": 9, "end": 0.01, "accuracy": 99.0}
    sentences = outcome(made([*unequal(), one]))
    assert mentions(sentences[0], "D-NASA reaches the highest")
    assert any("quick" in sentence for sentence in sentences[1:]), sentences


def test_figures_and_tables_name_different_seeds():
    found = made([{**row, "eta": 0.1} for row in unequal() if row["algo"] == "dnasa" or row["seed"] > 2])
    assert mentions(drawings()["curves"].picture(found, FigureOptions()).notes[-1], "D-NASA 0–9", "D-SGD 3–9")
    same = made([row for row in unequal() if row.get("eta") != 1.0])
    assert different_seeds(same, set(same.runs["run_id"])) == different_seeds(same, set()) == []


def test_a_setting_is_not_called_the_only_one_because_the_others_lack_seeds():
    """η = 0.1 has all three seeds, 1 and 10 have two each: they are named, and the rule is stated."""
    some = rows("dsgd", {0.1: [80.0, 81.0, 80.0], 1.0: [90.0, 91.0], 10.0: [90.0, 90.0, 91.0]})
    some = [row for row in some if (row["eta"], row["seed"]) != (10.0, 0)]
    results = made(some + untuned([85.0, 85.2, 84.9]))
    chosen = reported_all(results, results.finals, FigureOptions())["dsgd"]
    assert (chosen.best.values["eta"], chosen.how) == (0.1, CROSSED)
    table = table_makers()["final"].make(results, FigureOptions())
    assert "η" in table.title or "stepsize" in table.title
    assert not any("only value run" in cell for cell in table.shown["η"])
    for notes in (table.notes, drawings()["curves"].draw(results, FigureOptions()).notes):
        assert any("η=1" in note and "η=10" in note for note in notes)


@pytest.mark.parametrize("complete", [True, False])
def test_notes_name_settings_without_all_seeds_only_if_there_are_any(complete):
    last = [84.0, 84.0, 84.0] if complete else [84.0]
    results = made(rows("dsgd", {0.1: [80.0, 81.0, 80.0], 1.0: [90.0, 91.0, 90.0], 10.0: last}))
    notes = table_makers()["final"].make(results, FigureOptions()).notes
    assert any("D-SGD η=10" in note for note in notes) is not complete
