"""Performance profiles over problems, tuned on the grid and untuned."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.drawing.panels import Picture, legend, legend_entry, letter_panel, panels
from analysis.drawing.style import METRICS, Style, styles, taller
from analysis.drawing.symbols import what_is_tuned
from analysis.figures import figure
from analysis.results.results import Results
from analysis.study.ask import Ask
from analysis.study.select import as_written, counted, problems, refuse_unless
from analysis.study.statistics import profile
from analysis.study.tuning import tuned_over

TAU = 0.01
SETTINGS = 3
"""What makes a grid: below, a method is not tuned on a problem."""
RULES = {
    "tuned": "tuned on the grid: each method at the {what} with the least cost on each problem",
    "untuned": "a {what} taken blindly: every {what} of a method's grid counts as one try, all with the same weight",
}


@figure(
    "profile",
    "Performance profiles: tuned on the grid, and with a stepsize taken blindly from it",
    "python bench/run.py experiment=paper/topology_a9a",
)
def draw(results: Results, ask: Ask) -> Picture:
    finals, uncounted = counted(results.finals, ask.cost)
    costs = to_target(results, finals, ask)
    look = styles(costs["algo"].unique(), results)
    tried = [runs for _, runs in problems(results, finals[finals["run_id"].isin(costs["run_id"])])]
    mine = [some for runs in tried for _, some in runs.groupby("algo")]
    what = what_is_tuned(option for some in mine for option in tuned_over(results, some))
    figure, axes = panels(1, 2, 2.0 * taller(look), 6.0, sharey=True)
    least = costs.groupby("problem")["cost"].min()
    drawn = []
    for ax, (rule, table) in zip(axes[0], (("tuned", tuned(costs)), ("untuned", untuned(costs))), strict=True):
        curves = profile(table, least)
        right = max([1.0, *(factors.max(initial=1.0) for factors, _ in curves.values())])
        for algo, style in look.items():
            factors, solved = curves[algo]
            drawn.append(pd.DataFrame({"rule": rule, "algo": algo, "x": factors, "mean": solved}))
            x = np.concatenate([[1.0], factors, [right * 1.3]])
            y = np.concatenate([[0.0], solved, [solved[-1] if len(solved) else 0.0]])
            ax.step(x, y, where="post", color=style.colour, ls=style.dash, lw=1.5 * style.width)
            marked = _marked(x, y, right * 1.3, style, len(look))
            ax.plot(*marked, color=style.colour, ls="", marker=style.marker, ms=4, markeredgewidth=0)
        ax.set(xscale="log", xlabel=f"{METRICS[ask.cost]}, as a multiple of the least", ylim=(-0.02, 1.02))
        letter_panel(ax, "tuned on the grid" if rule == "tuned" else f"a {what} taken blindly")
    axes[0, 0].set_ylabel("part of the problems solved")
    legend(figure, [legend_entry(style) for style in look.values()])
    notes = [
        *(rule.format(what=what) for rule in RULES.values()),
        f"cost: {METRICS[ask.cost]} until the training loss has fallen by {1 - TAU:.0%} of the largest fall of any run "
        "on the problem (Moré and Wild 2009); a missed target is infinite and stays in the denominator",
        f"{costs['problem'].nunique()} problems (setting and seed) on which every method with a stepsize was run with "
        f"{SETTINGS} or more",
        *uncounted,
    ]
    return Picture(figure, pd.concat(drawn, ignore_index=True), set(costs["run_id"]), notes)


def _marked(x: np.ndarray, y: np.ndarray, right: float, style: Style, methods: int) -> tuple[np.ndarray, np.ndarray]:
    """Markers on the steps, of every method at other places: lines that coincide are told apart."""
    places = np.exp(np.linspace(0, np.log(right), 4 * methods + 1)[style.place :: methods][:4] + 0.02 * np.log(right))
    return places, y[np.searchsorted(x, places, side="right") - 1]


def to_target(results: Results, finals: pd.DataFrame, ask: Ask) -> pd.DataFrame:
    """What every run paid until its problem's target; infinite where it never got there."""
    out = []
    methods = _most_compared(results, finals)
    for number, (_, runs) in enumerate(problems(results, finals)):
        if not methods <= set(runs["algo"]):
            continue
        runs, _ = as_written(results, runs[runs["algo"].isin(methods)], ask)
        runs = runs.sort_values("run_id")
        met = runs.groupby("seed")["algo"].nunique()  # by every method, at these seeds
        rows = results.curves(runs[runs["seed"].isin(met.index[met == len(methods)])])
        for seed, some in rows.groupby("seed"):
            if not methods <= set(some["algo"]) or not _has_grids(results, some):
                continue
            start, least = some.loc[some["step"] == 0, "train_loss"].min(), some["train_loss"].min()
            target = least + TAU * (start - least)
            reached = some[some["train_loss"] <= target].groupby("run_id")[ask.cost].min()
            mine = runs[runs["seed"] == seed]
            out.append(
                mine[["run_id", "algo"]].assign(
                    problem=f"{number}/{seed}", cost=mine["run_id"].map(reached).fillna(np.inf)
                )
            )
    refuse_unless(
        bool(out), f"no problem was run with two methods and {SETTINGS} stepsizes or more of each that has one"
    )
    table = pd.concat(out, ignore_index=True)
    # a cost of 0 (all of them are counted from the start) would make every ratio infinite
    return table.assign(cost=table["cost"].clip(lower=1e-12))


def _most_compared(results: Results, finals: pd.DataFrame) -> set[str]:
    """The most methods that were run together on two problems or more; only a method that was run can miss a target."""
    sets: list[frozenset[str]] = [frozenset(runs["algo"]) for _, runs in problems(results, finals)]
    shared = [methods for methods in sets if len(methods) >= 2]
    refuse_unless(bool(shared), "no problem was run with two methods")
    several = [methods for methods in shared if sum(methods <= other for other in sets) >= 2] or shared
    return set(max(several, key=lambda methods: (len(set(methods)), sorted(methods))))


def _has_grids(results: Results, rows: pd.DataFrame) -> bool:
    """Whether every method that is tuned was run with several settings."""
    runs = rows.drop_duplicates("run_id")
    tuned = [(mine, over) for _, mine in runs.groupby("algo") if (over := tuned_over(results, mine))]
    return bool(tuned) and all(mine.groupby(over).ngroups >= SETTINGS for mine, over in tuned)


def tuned(costs: pd.DataFrame) -> pd.DataFrame:
    """Each method's least cost over its grid, per problem."""
    return costs.groupby(["problem", "algo"], as_index=False)["cost"].min().assign(weight=1.0)


def untuned(costs: pd.DataFrame) -> pd.DataFrame:
    """Every try, all of a method on a problem together with the weight of one."""
    return costs.assign(weight=1.0 / costs.groupby(["problem", "algo"])["cost"].transform("count"))
