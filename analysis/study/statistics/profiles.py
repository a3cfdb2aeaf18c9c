"""Performance profiles over problems, with as many tries for every method."""

from __future__ import annotations

from math import comb

import numpy as np
import pandas as pd


def tries(costs: pd.DataFrame, count: int) -> pd.DataFrame:
    """Every method with so many tries on each problem, from costs with columns problem, seed, algo, setting, cost.

    Of its m settings k are drawn, every k with the same chance, and of these the one with the fewest misses, then the
    least mean cost, over the other seeds is taken (of a single seed, over that). So at each seed the j-th best of m has
    the chance C(m−j, k−1) / C(m, k), with k = m where there are fewer: exactly, without drawing. The seeds of a problem
    share its weight, which is 1.
    """
    out = []
    for _, mine in costs.groupby(["problem", "algo"], sort=False):
        table = mine.pivot(index="setting", columns="seed", values="cost")
        m, k = len(table), min(count, len(table))
        chances = np.array([comb(m - place, k - 1) / comb(m, k) for place in range(1, m + 1)])
        weight: dict[tuple[object, object], float] = {}
        for seed in table:
            others = table.drop(columns=seed) if table.shape[1] > 1 else table
            missed = np.isinf(others).sum(axis=1).to_numpy()
            paid = others.where(np.isfinite(others)).mean(axis=1).fillna(0.0).to_numpy()
            order = table.index[np.lexsort((np.arange(m), paid, missed))]
            weight |= {(setting, seed): chance / table.shape[1] for setting, chance in zip(order, chances, strict=True)}
        out.append(mine.assign(weight=[weight[pair] for pair in zip(mine["setting"], mine["seed"], strict=True)]))
    return pd.concat(out, ignore_index=True)


def profile(costs: pd.DataFrame) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Performance profiles (Dolan and Moré 2002) of costs to a target, with columns problem, algo, cost, least, weight.

    For each method: factors τ, and the part of all problems it solved within τ times the ``least`` cost; a problem with
    several tries counts each by its weight. A missed target is infinite and stays in the denominator, also where every
    method missed it, and so does a problem that a method was not run on.
    """
    out = {}
    for algo, mine in costs.groupby("algo"):
        ratios = (mine["cost"] / mine["least"].where(np.isfinite(mine["least"]), 1.0)).to_numpy(float)
        solved = np.isfinite(ratios) & (mine["weight"] > 0).to_numpy()
        order = np.argsort(ratios[solved], kind="stable")
        weights = mine["weight"].to_numpy(float)[solved][order]
        out[str(algo)] = (ratios[solved][order], np.cumsum(weights) / costs["problem"].nunique())
    return out
