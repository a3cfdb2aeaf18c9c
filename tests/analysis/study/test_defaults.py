"""The choice of a default setting per method, on hand-made runs with known costs."""

import numpy as np
import pandas as pd
import pytest

from analysis.results.errors import NoData
from analysis.results.results import Results
from analysis.study.defaults import choices
from analysis.study.figure_options import FigureOptions
from analysis.tables import table_makers

STEPS = np.array([0, 1, 10, 100, 1000])
BATCH, NODES = 4, 8


def run(algo, eta, rate, dataset="one", seed=0, topology="ring", state="done", minimum=None, per_step=1):
    """A run whose loss is 1 + 256 (steps)^−rate after one step, from 513: a target is reached at a known step."""
    labels = {"algo": algo, "eta": eta, "schedule": "fixed", "dataset": dataset, "seed": seed, "topology": topology}
    labels |= {"run_id": f"{algo}-{eta}-{dataset}-{seed}-{topology}", "state": state}
    losses = 1 + 512 * np.append(1, 0.5 * STEPS[1:] ** -float(rate))
    rows = {"run_id": labels["run_id"], "step": STEPS, "gradients": STEPS * per_step * BATCH * NODES}
    rows |= {"train_loss": losses, "val_loss": losses}
    if minimum is not None:
        rows["suboptimality"] = losses - minimum
    return {**labels, "nodes": NODES, "batch_size": BATCH, "steps": 1000}, pd.DataFrame(rows)


def results(*runs):
    labels, rows = zip(*runs, strict=True)
    return Results(pd.DataFrame(labels), pd.concat(rows, ignore_index=True), {}, [], "invented")


def grid(algo, rates, datasets=("one", "two"), **more):
    """Runs of a method with a convergence rate for each stepsize, on datasets whose minimum is 1."""
    more = {"minimum": 1.0, **more}
    return [
        run(algo, eta, rate, name, seed, **more) for eta, rate in rates.items() for name in datasets for seed in (0, 1)
    ]


def found(*runs):
    return {choice.algo: choice for choice in choices(results(*runs))}


def test_twice_the_rate_in_the_logarithm_is_half_of_the_logarithm_of_the_cost():
    """D-SGD reaches target k = 1, …, 8 after 2^(k−1) steps, a rate of 2 after 2^((k−1)/2), where k − 1 ≤ 8."""
    both = found(*grid("dsgd", {0.1: 0.5, 1.0: 1.0}), *grid("dsgt", {0.1: 2.0, 1.0: 0.1, 10.0: 0.2}))
    assert both["dsgd"].score == pytest.approx(0)
    assert both["dsgd"].values == {"eta": 1.0}
    assert both["dsgt"].score == pytest.approx(np.mean([min(3, (k - 1) / 2) for k in range(1, 9)]))
    assert both["dsgt"].values == {"eta": 0.1}
    assert both["dsgt"].parts.keys() == {"one", "two"}
    assert both["dsgt"].start == {"one": 513, "two": 513}


def test_costs_are_gradients_not_steps():
    twice = grid("gt_hsgd", {0.1: 1.0, 1.0: 0.9}, per_step=2)
    assert found(*grid("dsgd", {0.1: 0.5, 1.0: 1.0}), *twice)["gt_hsgd"].score == pytest.approx(-1)


def test_one_setting_for_all_datasets():
    """A setting that is best on one dataset and bad on the other loses against one that is good on both."""
    uneven = [
        *grid("dsgt", {0.1: 2.0, 1.0: 1.2, 10.0: 0.1}, ["one"]),
        *grid("dsgt", {0.1: 0.1, 1.0: 1.2, 10.0: 2.0}, ["two"]),
    ]
    choice = found(*grid("dsgd", {0.1: 0.5, 1.0: 1.0}), *uneven)["dsgt"]
    assert choice.values == {"eta": 1.0}
    assert choice.edges == ()


def test_names_values_at_an_edge():
    assert found(*grid("dsgd", {0.1: 0.5, 1.0: 1.0, 10.0: 0.2}), *grid("dsgt", {0.1: 2.0, 1.0: 1.0}))["dsgt"].edges == (
        "eta",
    )


def test_diverged_runs_lose():
    runs = [*grid("dsgt", {0.1: 2.0}, state="nonfinite"), *grid("dsgt", {1.0: 0.4})]
    assert found(*grid("dsgd", {0.1: 0.5, 1.0: 1.0}), *runs)["dsgt"].values == {"eta": 1.0}


def test_a_setting_without_runs_on_all_datasets_is_not_chosen():
    runs = [*grid("dsgt", {0.1: 2.0}, ["one"]), *grid("dsgt", {1.0: 0.9, 10.0: 0.8})]
    assert found(*grid("dsgd", {0.1: 0.5, 1.0: 1.0}), *runs)["dsgt"].values == {"eta": 1.0}


def test_pooled_methods_set_the_reference_without_a_known_minimum():
    """The pooled loss ends far above the minimum, so that all methods reach all targets early."""
    ours = grid("dsgd", {0.1: 0.5, 1.0: 1.0}, minimum=None)
    with pytest.raises(NoData):
        found(*ours)
    pooled = grid("adam", {0.1: 0.9, 1.0: 1.0}, minimum=None, topology="all_reduce")
    made = found(*ours, *pooled)
    assert made["adam"].pooled
    assert made["adam"].score == pytest.approx(0)
    assert made["adam"].values == {"eta": 1.0}


def test_an_undefined_final_loss_sets_no_reference():
    """The fast pooled method has no final loss at one of two seeds, so that the slow one still sets the targets."""
    ours = grid("dsgd", {0.1: 0.5, 1.0: 1.0}, minimum=None)
    slow = grid("adam", {0.1: 0.5, 1.0: 0.7}, minimum=None, topology="all_reduce")
    fast = grid("storm", {0.1: 3.0, 1.0: 2.0}, minimum=None, topology="all_reduce")
    for labels, rows in fast:
        if labels["seed"] == 0:
            rows.iloc[-1, rows.columns.get_loc("val_loss")] = np.nan
    both = found(*ours, *slow, *fast)
    assert both["adam"].score == found(*ours, *slow)["adam"].score
    assert both["storm"].final == {"one": np.inf, "two": np.inf}


def test_a_setting_without_all_seeds_is_neither_yardstick_nor_reference():
    """A lucky seed of one more stepsize, as of a sweep that was interrupted, changes no score."""
    runs = [*grid("dsgd", {0.1: 0.5, 1.0: 1.0}), *grid("dsgt", {0.1: 2.0, 1.0: 0.1})]
    before = {name: choice.score for name, choice in found(*runs).items()}
    lucky = [run("dsgd", 3.0, 5.0, name, seed=0, minimum=1.0) for name in ("one", "two")]
    assert {name: choice.score for name, choice in found(*runs, *lucky).items()} == before
    more = {"minimum": None}
    runs = [
        *grid("dsgd", {0.1: 0.5, 1.0: 0.8}, **more),
        *grid("dsgd", {0.1: 0.9, 1.0: 0.6}, topology="all_reduce", **more),
    ]
    before = {choice.pooled: choice.score for choice in choices(results(*runs))}
    lucky = [run("dsgd", 3.0, 5.0, name, seed=1, topology="all_reduce") for name in ("one", "two")]
    assert {choice.pooled: choice.score for choice in choices(results(*runs, *lucky))} == before


def test_rejects_two_runs_at_one_setting():
    runs = grid("dsgd", {0.1: 0.5, 1.0: 1.0})
    labels, rows = run("dsgd", 0.1, 0.5, minimum=1.0)
    with pytest.raises(NoData, match="dsgd"):
        found(*runs, ({**labels, "run_id": "longer", "steps": 2000}, rows.assign(run_id="longer")))


@pytest.mark.parametrize(("label", "value"), [("topology", "complete"), ("nodes", 16), ("batch_size", 1)])
def test_rejects_several_problems_of_one_dataset(label, value):
    other = [({**labels, label: value}, rows) for labels, rows in grid("dsgt", {0.1: 2.0, 1.0: 1.0})]
    with pytest.raises(NoData, match=f"--where {label}="):
        found(*grid("dsgd", {0.1: 0.5, 1.0: 1.0}), *other)


def test_the_table_has_a_row_per_method():
    made = results(*grid("dsgd", {0.1: 0.5, 1.0: 1.0}), *grid("dsgt", {0.1: 2.0, 1.0: 1.0}))
    table = table_makers()["defaults"].table(made, FigureOptions())
    assert list(table.data["algo"]) == ["dsgd", "dsgt"]
    assert list(table.data["eta"]) == [1.0, 0.1]
    assert list(table.shown["edge"]) == ["η", "η"]
    assert {"score_one", "score_two", "start_one", "final_two"} <= set(table.data)
