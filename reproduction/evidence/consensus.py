"""Agreement: D-NASA's consensus error as a part of what its theory allows."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
from scipy.special import zeta

from analysis.claims.evidence import Case, evidence, exact
from analysis.results.labels import name_of
from analysis.results.results import Results
from analysis.study.select import has_no_variant


@evidence
def part_of_the_sharp_bound(results: Results) -> list[Case]:
    """The largest consensus error as a part of b_t², b⁺ = ρ (b + η_t), over all evaluations of all runs."""
    out = []
    for name, some in _bounded(results):
        rows = results.rows[results.rows["run_id"].isin(some["run_id"]) & (results.rows["step"] > 0)]
        out.append(exact(name, float((rows["consensus"] / rows["consensus_bound"]).max(skipna=False)), len(some)))
    return out


@evidence
def part_of_the_papers_bound(results: Results) -> list[Case]:
    """Σ consensus over all steps as a part of ρ̃ Σ η_t², from equal starts: the largest of the runs."""
    out = []
    for name, some in _bounded(results):
        some = some[some["init"] == "shared"]
        parts = []
        for run in some.itertuples():
            told = getattr(run, "schedule_nodes", None)
            steps, n = int(run.steps), int(run.nodes if told is None or np.isnan(told) else told)
            total = zeta(1.5) - zeta(1.5, steps) if run.schedule == "diminishing" else steps**-0.5  # Σ h^(-3/2)
            eta2 = float(n**0.5 * total)
            rows = results.rows[results.rows["run_id"] == run.run_id]
            parts.append(float(np.trapezoid(rows["consensus"], rows["step"])) / (rho_tilde(float(run.rho)) * eta2))
        if parts:
            out.append(exact(name, float(np.max(parts)), len(parts)))
    return out


def _bounded(results: Results) -> Iterable[tuple[str, pd.DataFrame]]:
    """D-NASA as written on graphs where agreement takes time, by dataset, graph and split."""
    finals = results.finals
    finals = finals[has_no_variant(finals)]
    mine = finals[(finals["algo"] == "dnasa") & (finals["rho"] > 1e-9) & finals["consensus_bound"].notna()]
    for (dataset, topology, nodes, split), some in mine.assign(split=mine["partition"]).groupby(
        ["dataset", "topology", "nodes", "split"]
    ):
        yield f"{name_of(dataset)}, {topology} of {nodes}, {split}", some


def rho_tilde(rho: float) -> float:
    """max{ 1/(1−√((1+ρ)/2)) · √((1+ρ²)/(1−ρ²)), ρ/(1−ρ) · (1+ρ²)/(1−ρ²) }"""
    ratio = (1 + rho**2) / (1 - rho**2)
    return max(np.sqrt(ratio) / (1 - np.sqrt((1 + rho) / 2)), rho / (1 - rho) * ratio)
