"""Consensus error of D-NASA as a fraction of its theoretical bound, and ρ of the graphs."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
from scipy.special import zeta

from analysis.claims.evidence import Case, evidence, exact
from analysis.results.labels import name_of
from analysis.results.results import Results
from analysis.study.families import most_run
from analysis.study.select import has_no_variant


@evidence
def part_of_the_sharp_bound(results: Results) -> list[Case]:
    """Largest consensus error as a fraction of b_t², b⁺ = ρ (b + η_t), over all evaluations of all runs."""
    out = []
    for name, some in _bounded(results):
        rows = results.rows[results.rows["run_id"].isin(some["run_id"]) & (results.rows["step"] > 0)]
        out.append(exact(name, float((rows["consensus"] / rows["consensus_bound"]).max(skipna=False)), len(some)))
    return out


@evidence
def part_of_the_papers_bound(results: Results) -> list[Case]:
    """Largest Σ consensus over all steps as a fraction of ρ̃ Σ η_t², over all runs with equal starts."""
    out = []
    for name, some in _bounded(results):
        some = some[some["init"] == "shared"]
        parts = []
        for run in some.itertuples():
            formula_nodes = getattr(run, "schedule_nodes", np.nan)
            steps, n = int(run.steps), int(run.nodes if pd.isna(formula_nodes) else formula_nodes)
            total = zeta(1.5) - zeta(1.5, steps) if run.schedule == "diminishing" else steps**-0.5  # Σ h^(-3/2)
            eta2 = float(n**0.5 * total)
            rows = results.rows[results.rows["run_id"] == run.run_id]
            parts.append(float(np.trapezoid(rows["consensus"], rows["step"])) / (rho_tilde(float(run.rho)) * eta2))
        if parts:
            out.append(exact(name, float(np.max(parts)), len(parts)))
    return out


@evidence
def distance_from_printed_rho(results: Results, printed: dict[str, float]) -> list[Case]:
    """Distance of ρ, for a graph of 8 nodes, from the printed value."""
    finals = results.finals
    out = []
    for graph, rho in printed.items():
        mine = finals[(finals["topology"] == graph) & (finals["nodes"] == 8)]
        mine = mine[mine["links"] == "reliable"] if "links" in mine else mine
        if len(mine):
            mine, _ = most_run(mine, "topology", ())  # other weights have another ρ, and so has packet loss
            computed = float(mine["rho"].median())
            out.append(exact(f"{graph}: {computed:.4f} for {rho:g}", abs(computed - rho), len(mine)))
    return out


def _bounded(results: Results) -> Iterable[tuple[str, pd.DataFrame]]:
    """D-NASA as written, on graphs that are not complete, by dataset, graph and partition."""
    finals = results.finals
    finals = finals[has_no_variant(finals)]
    mine = finals[(finals["algo"] == "dnasa") & (finals["rho"] > 1e-9) & finals["consensus_bound"].notna()]
    for (dataset, topology, nodes, partition), some in mine.groupby(["dataset", "topology", "nodes", "partition"]):
        yield f"{name_of(dataset)}, {topology} of {nodes}, {partition}", some


def rho_tilde(rho: float) -> float:
    """max{ 1/(1−√((1+ρ)/2)) · √((1+ρ²)/(1−ρ²)), ρ/(1−ρ) · (1+ρ²)/(1−ρ²) }"""
    ratio = (1 + rho**2) / (1 - rho**2)
    return max(np.sqrt(ratio) / (1 - np.sqrt((1 + rho) / 2)), rho / (1 - rho) * ratio)
