"""The registered methods as a table."""

from __future__ import annotations

import pandas as pd

from bench.base.registry import algorithms
from bench.build.words import KINDS, assumptions, kind, requirements


def methods() -> pd.DataFrame:
    """Return the table of all methods, including those of plug-ins, indexed by name.

    The costs are those of one step and node, as the method declares them.

    Returns:
        The columns ``label``, ``kind`` (gossip, compressed, directed, asynchronous or reference), ``family``,
        ``vectors_per_step``, ``scalars_per_step``, ``rounds``, ``samples``, ``gradients``, ``needs`` (the problem
        parameters that it must know), ``assumes``, ``requires``, ``provenance``, ``cite`` and ``source``.

    Example:
        >>> free = methods().query("needs == ''")
    """
    rows = []
    for name in algorithms:
        p = algorithms[name].declare_for({})
        costs = {field: getattr(p, field) for field in COSTS}
        rows.append(
            {
                "method": p.name,
                "label": p.label,
                "kind": kind(p),
                "family": p.family,
                **costs,
                "needs": ", ".join(p.needs),
                "assumes": assumptions(p),
                "requires": requirements(p),
                "provenance": p.provenance if p.published else "unpublished",
                "cite": p.cite,
                "source": p.source or "",
            }
        )
    rows.sort(key=lambda row: (KINDS.index(row["kind"]), row["method"]))
    return pd.DataFrame(rows).set_index("method")


COSTS = ("vectors_per_step", "scalars_per_step", "rounds", "samples", "gradients")
