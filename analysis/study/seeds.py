"""A note on methods that are compared by means over different seeds."""

from __future__ import annotations

from collections.abc import Collection

from analysis.results.labels import methods
from analysis.results.results import Results
from analysis.results.wording import ranges
from analysis.study.select import problems


def different_seeds(results: Results, run_ids: Collection[str]) -> list[str]:
    """Return a note if the methods of a problem have different seeds among these runs."""
    runs = results.runs[results.runs["run_id"].isin(run_ids)]
    found: list[dict[str, str]] = []
    for _, some in problems(results, runs) if len(runs) else ():
        seeds = {str(algo): ranges(sorted(set(mine["seed"]))) for algo, mine in some.groupby("algo")}
        found += [seeds] if len(set(seeds.values())) > 1 else []
    if not found:
        return []
    names = methods({algo for seeds in found for algo in seeds}, results)
    each = "; ".join(f"{name} {found[0][algo]}" for algo, name in names.items() if algo in found[0])
    where = f": {each}" if len(found) == 1 else f" on {len(found)} problems"
    return [f"the methods have different seeds{where}"]
