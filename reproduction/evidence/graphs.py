"""Graphs: how fast they average."""

from __future__ import annotations

from analysis.claims.evidence import Case, evidence, exact
from analysis.results.results import Results


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
