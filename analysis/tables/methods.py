"""Table 1: what each method assumes and needs to know, from its own declaration."""

from __future__ import annotations

from typing import Any

import pandas as pd

from analysis.choose import need
from analysis.results import Results
from analysis.style import styles
from analysis.tables import Table

TITLE = "What each method assumes and must know"
INFORMATION = ("smoothness", "variance", "heterogeneity", "topology")


def make(results: Results) -> Table:
    found: dict[str, dict[str, Any]] = {}
    for run, algo in zip(results.runs.get("run_id", []), results.runs.get("algo", []), strict=True):
        if declared := results.facts.get(run, {}).get("algorithm"):
            found.setdefault(algo, declared)
    need(bool(found), "no run says what its method assumes")
    look = styles(found)
    data = pd.DataFrame(
        [
            {
                "algo": algo,
                "method": style.label,
                "assumes": ", ".join(found[algo]["assumes"]),
                **{word: word in found[algo]["needs"] for word in INFORMATION},
                "sends": found[algo]["sends"],
                "cite": found[algo]["cite"],
            }
            for algo, style in look.items()
        ]
    )
    shown = pd.DataFrame(
        {
            "method": data["method"],
            "assumes": data["assumes"].replace("", "—"),
            **{word: data[word].map({True: "needed", False: "—"}) for word in INFORMATION},
            "vectors sent": data["sends"],
            "source": data["cite"],
        }
    )
    return Table(
        shown,
        data,
        ["Knowing the number of nodes n and the horizon T is free. All assume smoothness and bounded variance."],
    )
