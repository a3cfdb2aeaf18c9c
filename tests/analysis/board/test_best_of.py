"""V(K) against the enumeration of all subsets of K settings."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from analysis.board.best_of import best_of, chances


def literal(scores, tried):
    """The mean over all subsets and seeds of the score of the setting that the other seeds prefer."""
    m, seeds = scores.shape
    values = []
    for some in combinations(range(m), tried):
        for seed in range(seeds):
            others = [s for s in range(seeds) if s != seed] or [seed]
            best = max(some, key=lambda k: (scores[k, others].mean(), -k))
            values.append(scores[best, seed])
    return np.mean(values)


@pytest.mark.parametrize("seeds", [1, 2, 3])
def test_agrees_with_enumeration(seeds):
    scores = np.random.default_rng(seeds).standard_normal((6, seeds)).round(1)
    found = best_of(pd.DataFrame(scores))
    assert found == pytest.approx([literal(scores, tried) for tried in range(1, 7)])


def test_probabilities_add_up_to_one():
    assert [chances(14, tried).sum() for tried in range(1, 15)] == pytest.approx([1] * 14)


def test_one_try_is_the_mean_and_all_are_the_choice():
    scores = pd.DataFrame([[1.0, 2.0], [5.0, 4.0], [0.0, 0.0]])
    assert best_of(scores)[[0, -1]] == pytest.approx([2.0, 4.5])


def test_a_setting_without_a_seed_does_not_count():
    scores = pd.DataFrame([[1.0, 2.0], [9.0, np.nan]])
    assert best_of(scores) == pytest.approx([1.5])
