"""Options of one name whose values are numbers of one method and texts of another."""

from dataclasses import replace

import pandas as pd
import pytest

from analysis.figures import drawings
from analysis.results.numbers import with_several_values
from analysis.results.results import Results
from analysis.study import tuning
from analysis.study.figure_options import FigureOptions
from analysis.tables import table_makers

SETTING = {"topology": "ring", "dataset": "digits", "nodes": 4, "steps": 2, "state": "done"}


def made(extra=()):
    mine = [("dnasa", alpha, seed) for alpha in (0.1, 0.3, 0.5) for seed in (0, 1)] + [("dsgd", None, 0)]
    labels = [
        {
            "run_id": f"{number}",
            "algo": algo,
            **({"alpha": alpha} if alpha is not None else {}),
            "seed": seed,
            **SETTING,
        }
        for number, (algo, alpha, seed) in enumerate([*mine, *extra])
    ]
    loss = [abs((one.get("alpha") if type(one.get("alpha")) is float else 1.0) - 0.3) + 1 for one in labels]
    rows = [
        {"run_id": one["run_id"], "step": step, "train_loss": value, "test_loss": value, "test_accuracy": 90 - value}
        for one, value in zip(labels, loss, strict=True)
        for step in (0, 2)
    ]
    return Results(pd.DataFrame(labels), pd.DataFrame(rows), {}, [], "here")


@pytest.mark.parametrize("values", [["x"], ["x", "y"], [True], [[1]], ["0.1", "0.2"]])
def test_a_text_of_another_method_does_not_stop_tuning(values):
    plain, found = made(), made([("zzz", str(v) if type(v) is list else v, 9) for v in values])
    assert found.numbers == plain.numbers == ["alpha"]
    before, after = (table_makers()["final"].table(one, FigureOptions()).data for one in (plain, found))
    columns = ["algo", "alpha", "test_loss", "seeds"]
    ours = after[after["algo"] != "zzz"].reset_index(drop=True)
    assert ours[columns].astype(str).equals(before[columns].astype(str))
    assert list(before["alpha"].dropna()) == [0.3]
    table_makers()["robustness"].table(found, FigureOptions(over="alpha"))
    figures = [drawings()["stepsize"].picture(one, FigureOptions(over="alpha")) for one in (plain, found)]
    assert figures[0].data.equals(figures[1].data[figures[1].data["algo"] != "zzz"])


def test_numbers_of_another_method_make_no_text_a_number():
    runs = made([("zzz", 0.5, 9)])
    texts = runs.runs.assign(alpha=["once", "twice"] * 3 + [None, 0.5])
    found = Results(texts, runs.rows, {}, [], "here")
    data = table_makers()["final"].table(found, FigureOptions()).data
    assert data.loc[data["algo"] == "dnasa", "eta"].isna().all()
    assert "alpha" not in data


def test_looks_only_at_labels_that_vary_within_a_method(monkeypatch):
    wide = {f"own{number}": number for number in range(50)}
    plain = made()
    texts = plain.runs["algo"].map({"dnasa": "a", "dsgd": "b"})  # differs between methods only
    found = replace(plain, runs=plain.runs.assign(kind=texts, **wide))
    assert found.several == {"dnasa": ["alpha"], "dsgd": []}
    asked, numbers_of = [], tuning.numbers_of
    monkeypatch.setattr(tuning, "numbers_of", lambda values: asked.append(values.name) or numbers_of(values))
    mine = found.finals[found.finals["algo"] == "dnasa"]
    assert tuning.numbers_tuned(found, mine) == ["alpha"]
    assert asked == ["alpha"]
    assert found.several_in(mine.iloc[:1]) == []


def test_a_missing_value_and_a_switch_are_values_of_their_own():
    runs = pd.DataFrame({"algo": "x", "whole": [1, 1], "mixed": pd.Series([1, True], dtype=object), "gone": [1, None]})
    assert with_several_values(runs, ["whole", "mixed", "gone"]) == {"x": ["mixed", "gone"]}
