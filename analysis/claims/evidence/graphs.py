"""Graphs: how fast they average, and whether a method feels them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from analysis.claims.evidence import Case, case, evidence, exact
from analysis.claims.evidence.settings import Among, of, settings, written
from analysis.results.results import Results
from analysis.study.ask import PAPER
from analysis.study.reported import reported_all


@evidence
def distance_from_printed_rho(results: Results, printed: dict[str, float]) -> list[Case]:
    """How far the spectral gap parameter of a graph of 8 nodes is from the printed one."""
    finals = results.finals
    out = []
    for graph, rho in printed.items():
        mine = finals[(finals["topology"] == graph) & (finals["nodes"] == 8)]
        if len(mine):
            found = float(mine["rho"].median())
            out.append(exact(f"{graph}: {found:.4f} for {rho:g}", abs(found - rho), len(mine)))
    return out


@evidence
def ends_beside_the_complete_graph(results: Results, metric: str, among: list[Among]) -> list[Case]:
    """Where tuned D-SGD ends, beside where it ends on the complete graph, paired by seed: a multiple of the loss, or a
    difference in points. Its stepsize is chosen on other seeds, for this metric, on each graph by itself. In brackets
    the same in standard deviations over seeds (of both, pooled)."""
    ends: dict[tuple[str, str], tuple[str, pd.Series]] = {}
    for kind in among:
        for name, runs in settings(results, kind, methods=1):
            mine = of(written(results, runs), "dsgd")
            if len(mine):
                dataset, _, rest = name.partition(", ")
                graph, _, split = rest.partition(", ")
                found = reported_all(results, mine, replace(PAPER, tune_by=metric))["dsgd"]
                where = f"{dataset}, {split}, {int(mine['steps'].iloc[0])}, {int(mine['nodes'].iloc[0])}"
                ends[where, graph.partition(" ")[0]] = name, found.values(metric)
    out = []
    for (where, graph), (name, values) in ends.items():
        if graph != "complete" and (where, "complete") in ends:
            both = pd.concat([values, ends[where, "complete"][1]], axis=1, join="inner").to_numpy(float)
            pooled = float(np.sqrt(np.var(both, axis=0, ddof=1).mean()))
            named = f"{name} ({abs(both[:, 0].mean() - both[:, 1].mean()) / pooled:.2g} standard deviations)"
            if metric == "test_accuracy":
                out.append(case(named, both[:, 0] - both[:, 1], 2 * len(both)))
            else:
                out.append(case(named, np.log(both[:, 0] / both[:, 1]), 2 * len(both), logs=True))
    return out
