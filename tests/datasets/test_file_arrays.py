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


def test_rejects_half_a_test_set(tmp_path):
    train = {"X_train": X, "y_train": Y}
    for half in ({"X_test": X}, {"y_test": Y}, {"x_val": X}, {"x_val": X, "y_test": Y}):
        np.savez(tmp_path / "t.npz", **train, **half)
        with pytest.raises(UserError, match=list(half)[-1]):
            load(tmp_path / "t.npz")
        with pytest.raises(UserError, match=list(half)[-1]):
            load(tmp_path / "t.npz", list(half)[-1])


def test_rejects_two_arrays_with_one_role(tmp_path):
    arrays = {"x": X, "y": Y, "labels": 1 - Y}
    np.savez(tmp_path / "t.npz", **arrays)
    with pytest.raises(UserError, match=r"y, labels.*dataset.column"):
        load(tmp_path / "t.npz")
    a = load(tmp_path / "t.npz", "labels")
    assert any(note.endswith("not used: y") for note in a.notes)
    for arrays in ({"x": X, "X": X + 1, "y": Y}, {**SPLIT, "x_test": X}):
        np.savez(tmp_path / "t.npz", **arrays)
        for column in (None, "y" if "y" in arrays else "y_train"):
            with pytest.raises(UserError, match=r"X.*, x_?|x, X"):
                load(tmp_path / "t.npz", column)


def test_notes_name_the_arrays_that_are_not_used(tmp_path):
    more = {"x_val": X, "y_val": Y, "sample_weight": Y, "x": X, "labels": np.array(["cat", "dog"])}
    np.savez(tmp_path / "t.npz", **SPLIT, **more)
    a = load(tmp_path / "t.npz")
    assert a.notes[-1].endswith("not used: x_val, y_val, sample_weight, x, labels")
    np.savez(tmp_path / "t.npz", **SPLIT)
    assert not any("not used" in note for note in load(tmp_path / "t.npz").notes)


@pytest.mark.parametrize(("part", "is_named"), [("val", True), ("test", False)])
def test_a_note_names_validation_arrays_that_are_the_test_set(tmp_path, part, is_named):
    np.savez(tmp_path / "t.npz", X_train=X, y_train=Y, **{f"X_{part}": X + 1, f"y_{part}": 1 - Y})
    a = load(tmp_path / "t.npz")
    assert np.array_equal(a.test_y, 1 - Y)
    assert any("X_val" in note and "y_val" in note for note in a.notes) == is_named


@pytest.mark.parametrize("words", [False, True])
def test_a_note_names_classes_that_only_test_rows_have(tmp_path, words):
    names = np.array(["ant", "bee", "cow"]) if words else np.arange(3)
    np.savez(tmp_path / "t.npz", **{**SPLIT, "y_train": names[Y], "y_test": names[Y + 1]})
    a = load(tmp_path / "t.npz")
    assert a.classes == 3
    assert a.notes[1].endswith(f"only test rows have: {names[2]}")
    np.savez(tmp_path / "t.npz", **{**SPLIT, "y_train": names[Y], "y_test": names[Y]})
    assert not any("only test rows" in note for note in load(tmp_path / "t.npz").notes)


@pytest.mark.parametrize("kind", [np.uint8, np.float64])
def test_images_with_the_channels_last_are_rejected(kind, tmp_path):
    images = (255 * G.random((ROWS, 8, 8, 3))).astype(kind)
    np.savez(tmp_path / "t.npz", x=images, y=Y)
    with pytest.raises(UserError, match=r"\(8, 8, 3\).*np\.moveaxis\(x, -1, 1\)"):
        load(tmp_path / "t.npz")
    np.savez(tmp_path / "t.npz", x=np.moveaxis(images, -1, 1), y=Y)
    assert any("3 channels of 8×8 pixels" in note for note in load(tmp_path / "t.npz").notes)


def test_encoded_classes_are_no_targets_of_a_regression(tmp_path):
    np.savez(tmp_path / "t.npz", x=X, y=np.eye(3)[np.arange(ROWS) % 3])
    with pytest.raises(UserError, match=r"argmax.*dataset\.task=regression"):
        load(tmp_path / "t.npz")
    assert load(tmp_path / "t.npz", task="regression").train_y.shape[1] == 3
    np.savez(tmp_path / "t.npz", x=X, y=np.eye(3)[np.arange(ROWS) % 3] / 2)
    assert load(tmp_path / "t.npz").train_y.shape[1] == 3
