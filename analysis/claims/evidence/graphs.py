"""Graphs: how fast they average, and whether a method feels them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from analysis.claims.evidence import Case, evidence, exact
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
def standard_deviations_from_the_complete_graph(results: Results, metric: str, among: list[Among]) -> list[Case]:
    """How far tuned D-SGD ends from where it ends on the complete graph, in standard deviations over seeds (of both,
    pooled): its stepsize is chosen on other seeds, for this metric, on each graph by itself."""
    out = []
    for kind in among:
        ends: dict[tuple[str, str], np.ndarray] = {}
        for name, runs in settings(results, kind, methods=1):
            dataset, _, rest = name.partition(", ")
            graph, _, split = rest.partition(", ")
            mine = of(written(results, runs), "dsgd")
            if mine.empty or (mine["steps"] != mine["steps"].min()).any():
                continue
            found = reported_all(results, mine, replace(PAPER, tune_by=metric))["dsgd"]
            values = found.values(metric).to_numpy(float)
            ends[f"{dataset}, {split}, {int(mine['steps'].iloc[0])}", graph] = values
        for (where, graph), values in ends.items():
            whole = next((v for (w, g), v in ends.items() if w == where and g.startswith("complete")), None)
            if whole is not None and not graph.startswith("complete"):
                pooled = np.sqrt((np.var(values, ddof=1) + np.var(whole, ddof=1)) / 2)
                dataset, _, rest = where.partition(", ")
                split = rest.rpartition(", ")[0]
                name = f"{dataset}, {graph}" + (f", {split}" if split else "")
                gap = abs(float(np.mean(values) - np.mean(whole)))
                out.append(exact(name, gap / float(pooled), len(values) + len(whole)))
    return out
