"""Table of the assumptions and required constants of each method, from its declaration."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.results.labels import marked, methods
from analysis.results.results import Results
from analysis.study.figure_options import FigureOptions
from analysis.study.select import refuse_unless
from analysis.tables import Table, table
from bench.base.provenance import PROVENANCE

INFORMATION = ("smoothness", "variance", "heterogeneity", "topology")


@table("methods", "Assumptions and required constants of each method", uses=())
def make(results: Results, request: FigureOptions) -> Table:
    found = results.declared
    refuse_unless(bool(found), "no run declares the assumptions of its method")
    names, marks = marked(methods(found, results), results)
    rows = [
        {
            "algo": algo,
            "method": name,
            "assumes": ", ".join(found[algo].get("assumes", ())),
            **{word: word in found[algo].get("needs", ()) for word in INFORMATION},
            "vectors_per_step": found[algo].get("vectors_per_step"),
            "cite": found[algo].get("cite", ""),
            "provenance": PROVENANCE.get(str(found[algo].get("provenance")), "—"),
        }
        for algo, name in names.items()
    ]
    data = pd.DataFrame(rows)
    if not any("provenance" in found[algo] for algo in names):  # runs of earlier versions
        data = data.drop(columns="provenance")
    renamed = {"vectors_per_step": "vectors sent", "cite": "source", "provenance": "rule"}
    shown = data.drop(columns="algo").rename(columns=renamed)
    shown["assumes"] = shown["assumes"].replace("", "—")
    shown[[*INFORMATION]] = np.where(shown[[*INFORMATION]], "needed", "—")
    notes = ["All methods may use n (nodes) and T (steps), and assume smoothness and bounded variance."]
    return Table(shown, data, [*notes, *marks])
