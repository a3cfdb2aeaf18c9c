"""Names that are a label of some runs and a metric of others: one table cannot hold both."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from bench.store.kinds import RESERVED
from bench.store.record import COLUMNS


def clashing(groups: Iterable[tuple[Collection[str], Mapping[str, Collection[str]]]]) -> dict[str, str]:
    """Return the runs that cannot be put together with the others, with the reasons; they may come from a stranger.

    These are runs with a metric of a reserved name and, for a name that is a label of some runs and a metric of others,
    the fewer ones; if they are equally many, those with the metric.

    Args:
        groups: The names of the metrics of some runs, and the labels of each of these runs by its name.
    """
    out, measured = dict[str, str](), dict[str, list[str]]()
    groups = list(groups)
    for columns, runs in groups:
        if reserved := next((name for name in columns if name in RESERVED), None):
            out |= dict.fromkeys(runs, f"its metric '{reserved}' has the name of a label")
            continue
        for name in {*columns} - {*COLUMNS}:
            measured.setdefault(name, []).extend(runs)
    labeled: dict[str, list[str]] = {}
    for _, runs in groups if measured else []:
        for run, labels in runs.items():
            for name in labels:
                if name in measured:
                    labeled.setdefault(name, []).append(run)
    for name, some in labeled.items():
        if len(some) < len(measured[name]):
            out |= dict.fromkeys(some, f"its label '{name}' is a metric of other runs")
        else:
            out |= dict.fromkeys(measured[name], f"its metric '{name}' is a label of other runs")
    return out
