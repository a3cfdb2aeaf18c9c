"""Table 1: what each method assumes and needs to know, from its own declaration."""

from __future__ import annotations

import pandas as pd

from analysis.results.labels import methods
from analysis.results.results import Results
from analysis.study.figure_options import FigureOptions
from analysis.study.select import refuse_unless
from analysis.tables import Table, table

INFORMATION = ("smoothness", "variance", "heterogeneity", "topology")


@table("methods", "What each method assumes and must know", uses=())
def make(results: Results, request: FigureOptions) -> Table:
    found = results.declared
    refuse_unless(bool(found), "no run says what its method assumes")
    look = methods(found, results)
    data = pd.DataFrame(
        [
            {
                "algo": algo,
                "method": name,
                "assumes": ", ".join(found[algo]["assumes"]),
                **{word: word in found[algo]["needs"] for word in INFORMATION},
                "vectors_per_step": found[algo]["vectors_per_step"],
                "cite": found[algo]["cite"],
            }
            for algo, name in look.items()
        ]
    )
    shown = pd.DataFrame(
        {
            "method": data["method"],
            "assumes": data["assumes"].replace("", "—"),
            **{word: data[word].map({True: "needed", False: "—"}) for word in INFORMATION},
            "vectors sent": data["vectors_per_step"],
            "source": data["cite"],
        }
    )
    return Table(
        shown,
        data,
        ["Knowing the number of nodes n and the horizon T is free. All assume smoothness and bounded variance."],
    )
