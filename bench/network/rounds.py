"""From a graph, and a rule for its weights, to the matrices of a round."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bench.base.registry import weight_rules
from bench.network.certificate import TOLERANCE, Matrices
from bench.network.sparse import Arcs, Pattern
from bench.network.weights import weigh


def union(patterns: Sequence[Pattern]) -> Pattern:
    """Every place that is in one of them."""
    if len(patterns) == 1:
        return patterns[0]
    n = patterns[0].nodes
    codes = np.unique(np.concatenate([pattern.rows * n + pattern.columns for pattern in patterns]))
    return Pattern(n, *np.divmod(codes, n))


def weighed(arcs: Arcs, rule: str) -> Matrices:
    """A graph's matrices: one for everything where the rule keeps both sums; else in- and out-weights."""
    own, keeps = weigh(arcs, rule), weight_rules[rule].keeps
    if keeps == "both":
        return Matrices(own, own, own)
    push = own if keeps == "columns" else weigh(arcs, "out_degree")
    pull = own if keeps == "rows" else weigh(arcs, "in_degree")
    if np.allclose(push.values, pull.values, rtol=0, atol=TOLERANCE):  # both sums are one
        return Matrices(own, own, own)
    return Matrices(None, push, pull)


def lazily(matrices: Matrices) -> Matrices:
    made = {id(w): w.lazy() for w in matrices if w is not None}
    return Matrices(*(None if w is None else made[id(w)] for w in matrices))
