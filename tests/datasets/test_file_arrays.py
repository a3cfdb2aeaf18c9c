"""Roles of the arrays of an npz file: every array has one role, and unused arrays are reported."""

import numpy as np
import pytest

from bench.base.errors import UserError
from tests.helpers.tables import ROWS, load

G = np.random.default_rng(0)
X, Y = G.random((ROWS, 2)), np.arange(ROWS) % 2
SPLIT = {"X_train": X, "y_train": Y, "X_test": X + 1, "y_test": 1 - Y}


@pytest.mark.parametrize("column", ["y_test", "X_test", "X_train", "z"])
def test_rejects_a_target_other_than_that_of_the_test_set(column, tmp_path):
    np.savez(tmp_path / "t.npz", **SPLIT, z=Y)
    with pytest.raises(UserError, match=column):
        load(tmp_path / "t.npz", column)


def test_the_training_target_may_be_named(tmp_path):
    np.savez(tmp_path / "t.npz", **SPLIT)
    for column in (None, "y_train"):
        a = load(tmp_path / "t.npz", column)
        assert a.train_y.tolist() == Y.tolist()
        assert a.test_y.tolist() == (1 - Y).tolist()
    np.savez(tmp_path / "t.npz", x=X, y_test=Y)  # two arrays
    assert load(tmp_path / "t.npz", "y_test").classes == 2
