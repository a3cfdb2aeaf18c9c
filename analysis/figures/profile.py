"""Performance profiles over problems, tuned and untuned."""

import numpy as np
import pandas as pd

from analysis.drawing.panels import Picture, legend, legend_entry, letter_panel, panels
from analysis.drawing.style import Style, styles
from analysis.drawing.symbols import what_is_tuned
from analysis.figures import figure
from analysis.figures.stepsize import COMMAND
from analysis.results.labels import method_name, metric_name
from analysis.results.results import Results
from analysis.results.wording import many
from analysis.study.clock_notes import clock_note
from analysis.study.figure_options import FigureOptions
from analysis.study.select import as_written, counted, problems, refuse_unless
from analysis.study.statistics import Grid, profile, tries
from analysis.study.targets import TAU, target_method, targets
from analysis.study.tuning import tuned_over
from analysis.study.variants import shown_values

SETTINGS = 3
"""The smallest number of stepsizes of a tuned method."""
WITHOUT = "{count} of a problem left out: no run of {method}, which sets the target, decreases its loss"
RULES = {
    "tuned": "tuned: every method draws {count} different settings ({what}) from its grid, as many as the smallest "
    "grid has. Of these it uses the setting that misses the fewest targets on the other seeds; ties go to the lower "
    "mean cost. "
    "Curves are means over all such draws",
    "untuned": "untuned: every method draws one setting; a method without tuned options is the same in both panels",
}


@figure(
    "profile",
    "Performance profiles: tuned on the grid, and with one random setting of it",
    f"{COMMAND} topology=ring,complete",
    uses=("cost", "reference"),
)
def draw(results: Results, request: FigureOptions) -> Picture:
    finals, uncounted = counted(results.finals, request.cost)
    methods = _most_compared(results, finals)
    yardstick = target_method(results, methods, request)
    costs, options, without = to_target(results, finals, methods, yardstick, request)
    look = styles(costs["algo"].unique(), results)
    what, cost = what_is_tuned(options), metric_name(request.cost, results)
    grids = costs.groupby(["problem", "algo"])["setting"].nunique()
    count = int(grids[grids >= SETTINGS].min())
    figure, axes = panels(1, 2, 2.0, look=look, sharey=True)
    drawn = []
    for ax, (rule, table) in zip(axes[0], (("tuned", tries(costs, count)), ("untuned", tries(costs, 1))), strict=True):
        curves = profile(table)
        right = max([1.0, *(factors.max(initial=1.0) for factors, _ in curves.values())])
        for algo, style in look.items():
            factors, solved = curves[algo]
            drawn.append(pd.DataFrame({"rule": rule, "algo": algo, "x": factors, "mean": solved}))
            x = np.concatenate([[1.0], factors, [right * 1.3]])
            y = np.concatenate([[0.0], solved, [solved[-1] if len(solved) else 0.0]])
            ax.step(x, y, where="post", color=style.color, ls=style.dash, lw=style.width)
            marked = _marked(x, y, right * 1.3, style, len(look))
            ax.plot(
                *marked, color=style.color, ls="", marker=style.marker, ms=style.size, markeredgewidth=0, clip_on=False
            )
        ax.set(xscale="log", xlabel=f"{cost}, relative to the cheapest run", ylim=(-0.02, 1.02))
        letter_panel(
            ax, f"tuned: best of {count} random settings" if rule == "tuned" else f"untuned: one random {what}"
        )
    axes[0, 0].set_ylabel("fraction of problems solved")
    legend(figure, [legend_entry(style) for style in look.values()])
    notes = [
        *(rule.format(what=what, count=count) for rule in RULES.values()),
        f"cost: {cost} until the training loss has decreased by {100 * (1 - TAU):g} % of the largest "
        f"decrease of any {look[yardstick].label} run on that problem with that seed (the target); a run that misses "
        "its target has infinite cost and still counts",
        "cheapest run: the one with the least cost of all methods and settings on the same problem with the same seed",
        _counted_problems(costs),
        *[WITHOUT.format(count=many(without, "seed"), method=look[yardstick].label)] * bool(without),
        *dict.fromkeys(note for _, some in costs.groupby("problem") for note in shown_values(results, some)),
        *uncounted,
        *clock_note(results, request.cost, costs),
    ]
    return Picture(figure, pd.concat(drawn, ignore_index=True), set(costs["run_id"]), notes)


def _counted_problems(costs: pd.DataFrame) -> str:
    count, seeds = costs["problem"].nunique(), costs.groupby("problem")["seed"].nunique()
    few = "; with a single seed, that seed chooses the setting and reports its result" if (seeds == 1).any() else ""
    return (
        f"{many(count, 'problem')}: combinations of data, network and n on which every method with a stepsize was run "
        f"with {SETTINGS} or more stepsizes; every problem has the same weight, divided equally among its seeds{few}"
    )


def _marked(x: np.ndarray, y: np.ndarray, right: float, style: Style, methods: int) -> tuple[np.ndarray, np.ndarray]:
    """Place the markers of every method at different points, so that coinciding lines can be distinguished."""
    places = np.exp(np.linspace(0, np.log(right), 4 * methods + 1)[style.place :: methods][:4] + 0.02 * np.log(right))
    return places, y[np.searchsorted(x, places, side="right") - 1]


def to_target(
    results: Results, finals: pd.DataFrame, methods: set[str], yardstick: str, request: FigureOptions
) -> tuple[pd.DataFrame, set[str], int]:
    """Return the cost of every run until the target of its problem and seed (infinite if missed) with the least cost of
    any run, the tuned options, and the number of seeds without a target."""
    out, options, without = [], set(), 0
    for number, (_, runs) in enumerate(problems(results, finals)):
        if not methods <= set(runs["algo"]):
            continue
        runs, _ = as_written(results, runs[runs["algo"].isin(methods)], request)
        parts = {str(algo): _settings(results, mine.sort_values("run_id")) for algo, mine in runs.groupby("algo")}
        grids = [part["setting"].nunique() for part, over in parts.values() if over]
        if not grids or min(grids) < SETTINGS:
            continue
        shared = set.intersection(*(set(part["seed"]) for part, _ in parts.values()))
        table = pd.concat([part[part["seed"].isin(shared)] for part, _ in parts.values()])
        rows = results.curves(runs.loc[runs["run_id"].isin(table["run_id"]), ["run_id", "algo", "seed"]])
        target = targets(rows, yardstick)
        without += len(shared - {*target.index})
        table = table[table["seed"].isin(target.index)]
        reached = rows[rows["train_loss"] <= rows["seed"].map(target)].groupby("run_id")[request.cost].min()
        # a cost of 0 would make every ratio infinite
        table = table.assign(cost=table["run_id"].map(reached).fillna(np.inf).clip(lower=1e-12))
        table["least"] = table.groupby("seed")["cost"].transform("min")
        options |= {option for _, over in parts.values() for option in over}
        out += [table.assign(problem=number)] if len(table) else []
    sentence = f"no problem was run with two methods and {SETTINGS} stepsizes or more of each that has one"
    none = f"no run of {method_name(yardstick, results)}, which sets the targets, decreases its loss"
    refuse_unless(bool(out), none if without else sentence)
    return pd.concat(out, ignore_index=True), options, without


def _settings(results: Results, runs: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Number the settings of one method on one problem, of those run with all common seeds; also return the tuned
    options."""
    over = tuned_over(results, runs)
    if not over:
        return runs[["run_id", "algo", "seed"]].drop_duplicates("seed").assign(setting=0), over
    grid = Grid(runs, over)
    kept = grid.runs.iloc[grid.places.ravel()][["run_id", "algo", "seed"]]
    return kept.assign(setting=np.repeat(np.arange(len(grid.settings)), len(grid.seeds))), over


def _most_compared(results: Results, finals: pd.DataFrame) -> set[str]:
    """Return the largest set of methods that were run together on at least two problems, if there is one."""
    sets: list[frozenset[str]] = [frozenset(runs["algo"]) for _, runs in problems(results, finals)]
    shared = [methods for methods in sets if len(methods) >= 2]
    refuse_unless(bool(shared), "no problem was run with two methods")
    several = [methods for methods in shared if sum(methods <= other for other in sets) >= 2] or shared
    return set(max(several, key=lambda methods: (len(set(methods)), sorted(methods))))
