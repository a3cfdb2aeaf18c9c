"""Final values against the stepsize, for every graph."""

from __future__ import annotations

from typing import Any

import pandas as pd

from analysis.drawing.panels import Picture
from analysis.figures import figure
from analysis.figures.stepsize import COMMAND, against_option, grids
from analysis.results.labels import name_of
from analysis.results.results import Results
from analysis.study.figure_options import FigureOptions
from analysis.study.select import first, problems, refuse_unless
from analysis.study.settings import apart

ORDER = ("ring", "random", "ladder", "complete")


@figure(
    "topology",
    "Final results against the stepsize, graph by graph",
    f"{COMMAND} topology=ring,complete",
    uses=("over", "metric", "tune_by"),
)
def draw(results: Results, request: FigureOptions) -> Picture:
    finals = grids(results, results.finals, request.over)
    everything, families = list(problems(results, finals)), []
    among = apart(everything)
    for _, runs in problems(results, finals, but=("topology", "steps")):
        found = list(problems(results, runs))
        each = [[one for one in found if one[0]["topology"] == name] for name in runs["topology"].unique()]
        graphs = {some[0][0]["topology"]: first(some, among, lambda key, _: key["steps"]) for some in each}
        count = sum(len(some) for _, some in graphs.values())
        families.append((-len(graphs), -count, among.place(found[0][0]), graphs))
    most, _, _, graphs = min(families, key=lambda family: family[:3])
    refuse_unless(-most >= 2, "no dataset was run on two graphs or more with several stepsizes")
    order = sorted(graphs, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))
    settings = [graphs[name] for name in order]
    ends, notes = among.side_by_side([key for key, _ in settings], also=["nodes"])
    titles = [f"{_title(key, runs)}{end}" for (key, runs), end in zip(settings, ends, strict=True)]
    columns = 2 if len(settings) in (2, 4) else 3
    share = {"sharey": True, "sharex": "col"}
    return against_option(results, request, settings, titles, notes, columns, ", graph by graph", **share)


def _title(key: dict[str, Any], runs: pd.DataFrame) -> str:
    rho = runs["rho"].iloc[0]
    known = f" (ρ = {max(rho, 0):.3f})" if pd.notna(rho) else ""  # unknown for some networks with packet loss
    return f"{name_of(key['dataset'])}, {key['topology']}{known}, T = {key['steps']}"
