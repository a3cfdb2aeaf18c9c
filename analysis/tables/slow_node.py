"""Table of final losses and of the seconds until three losses, by the factor of the slow node."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from analysis.drawing.symbols import in_symbols
from analysis.results.labels import methods
from analysis.results.results import NETWORK_S, Results
from analysis.results.seconds import on_own_networks
from analysis.study.figure_options import FigureOptions
from analysis.study.seeds import different_seeds
from analysis.study.select import what_else
from analysis.study.slow_node import CLOCK, CONTENT, SLOW, by_factor, most_factors
from analysis.study.tuning import in_sample, one_rule, setting_of
from analysis.tables import Table, table

PARTS = {"3/4": 3 / 4, "1/2": 1 / 2, "1/4": 1 / 4, "1/8": 1 / 8, "1/16": 1 / 16}
"""Parts of the initial training loss; the table has the three lowest that a method reaches with every seed."""
SHOWN = 3
ALONG = (SLOW, CONTENT, "partition")
"""Labels along which the rows are compared."""
LOSS = "train_loss"
NOTE = (
    "seconds until the first evaluation with a training loss of at most this part of the initial one; means over "
    "seeds, and — if a seed does not reach it or a run diverged"
)


@table("slow_node_times", "Seconds to three losses and final loss, by the factor of the slow node", uses=("tune_by",))
def make(results: Results, request: FigureOptions) -> Table:
    key, found = most_factors(results, but=("partition",))
    others = what_else(results, found, but=[SLOW, CONTENT, "partition"])
    timed, untimed = on_own_networks(results.of(found))
    data, shown, notes = list[dict[str, Any]](), list[dict[str, Any]](), list[str]()
    all_seeds, used = list[str](), set[str]()
    for one in by_factor(results, found, request):
        all_seeds = all_seeds or in_sample(one.chosen)
        notes, best = [*notes, *one.notes], one.best
        used |= set(best["run_id"])
        curves = timed.curves(best)
        for algo, label in methods(best["algo"].unique(), results).items():
            mine, values = best[best["algo"] == algo], setting_of(one.chosen, algo)
            diverged = int((mine["state"] != "done").sum())
            final = mine[LOSS] if not diverged else mine[LOSS] * np.nan
            rows = curves[curves["algo"] == algo]
            times = {name: np.nan if diverged else _mean_time(rows, part) for name, part in PARTS.items()}
            cells: dict[str, Any] = {part: "—" if np.isnan(time) else f"{time:.3g}" for part, time in times.items()}
            loss = f"{final.mean():.3g} ({final.min():.3g}–{final.max():.3g})" if not diverged else "—"
            where = {"partition": one.split, "slow factor": f"{one.slow:g}", "method": label}
            setting = {"setting": in_symbols(values) or "—"}
            shown.append({**where, **setting, **cells, "final train loss": loss, "diverged": diverged})
            data.append(
                {**key, "partition": one.split, "slow": one.slow, "algo": algo, **values}
                | {f"seconds to {part}": time for part, time in times.items()}
                | {"final": final.mean(), "low": final.min(), "high": final.max()}
                | {"runs": len(final), "diverged": diverged}
            )
    numbers = pd.DataFrame(data)
    reached = [part for part in PARTS if numbers[f"seconds to {part}"].notna().any()]
    omitted = [part for part in PARTS if part not in (reached[-SHOWN:] or PARTS)]
    numbers = numbers.drop(columns=[f"seconds to {part}" for part in omitted])
    omitted += [] if numbers["diverged"].any() else ["diverged"]
    return Table(
        pd.DataFrame(shown, dtype=object).drop(columns=omitted),
        numbers,
        [*others, CLOCK, NOTE, *one_rule(notes), *all_seeds, *different_seeds(results, used, ALONG), *untimed],
    )


def _mean_time(rows: pd.DataFrame, part: float) -> float:
    """Return the mean time until this part of the initial loss; NaN if a run does not reach it."""
    times = []
    for _, one in rows.groupby("run_id"):
        reached = one[one[LOSS] <= part * one[LOSS].iloc[0]]
        times.append(reached[NETWORK_S].iloc[0] if len(reached) else np.nan)
    return float(np.mean(times)) if times else float("nan")
