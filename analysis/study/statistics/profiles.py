"""Performance profiles over problems, with an equal tuning budget for every method."""

from __future__ import annotations

from math import comb

import numpy as np
import pandas as pd


def tries(costs: pd.DataFrame, count: int) -> pd.DataFrame:
    """Return the costs with the weight of each run if every method tries ``count`` random settings per problem.

    ``costs`` has the columns problem, seed, algo, setting and cost. Of the k tried settings, the one with the fewest
    misses, then the least mean cost, over the other seeds is chosen (for a single seed, over that seed). The j-th best
    of m settings is chosen with probability C(m−j, k−1) / C(m, k), with k = min(count, m). The weights of a problem
    add up to 1 for every method.
    """
    out = []
    for _, mine in costs.groupby(["problem", "algo"], sort=False):
        table = mine.pivot(index="setting", columns="seed", values="cost")
        m, k = len(table), min(count, len(table))
        chances = np.array([comb(m - place, k - 1) / comb(m, k) for place in range(1, m + 1)])
        weight: dict[tuple[object, object], float] = {}
        paid = table.to_numpy(float)
        for place, seed in enumerate(table):
            others = np.delete(paid, place, axis=1) if table.shape[1] > 1 else paid
            known = np.isfinite(others)
            means = np.where(known, others, 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
            order = table.index[np.lexsort((np.arange(m), means, np.isinf(others).sum(axis=1)))]
            weight |= {(setting, seed): chance / table.shape[1] for setting, chance in zip(order, chances, strict=True)}
        out.append(mine.assign(weight=[weight[pair] for pair in zip(mine["setting"], mine["seed"], strict=True)]))
    return pd.concat(out, ignore_index=True)


def profile(costs: pd.DataFrame) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return performance profiles (Dolan and Moré 2002): by method, factors τ and fractions of problems.

    ``costs`` has the columns problem, algo, cost, least and weight. The fraction is that of problems solved within τ
    times the ``least`` cost, weighted by ``weight``. Problems that were missed (infinite cost) or not run count as
    unsolved.
    """
    out = {}
    for algo, mine in costs.groupby("algo"):
        ratios = (mine["cost"] / mine["least"].where(np.isfinite(mine["least"]), 1.0)).to_numpy(float)
        solved = np.isfinite(ratios) & (mine["weight"] > 0).to_numpy()
        order = np.argsort(ratios[solved], kind="stable")
        weights = mine["weight"].to_numpy(float)[solved][order]
        out[str(algo)] = (ratios[solved][order], np.cumsum(weights) / costs["problem"].nunique())
    return out
