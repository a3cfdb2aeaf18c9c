"""Partitions of samples that have no classes: by the size of what is to be predicted, by place in a text."""

from itertools import pairwise

import numpy as np
import pytest

from bench.base.registry import partitions
from bench.problem.arrays import STRATA, Arrays, sound
from tests.helpers.cli import typed
from tests.helpers.tables import as_csv


def kinds_of_data() -> dict[str, Arrays]:
    g = np.random.default_rng(0)
    x, y = g.standard_normal((200, 2)), g.standard_normal(200)
    text = g.integers(0, 30, (200, 8), dtype=np.uint8)
    return {
        "numbers": Arrays(x, y, x, y, None),
        "several": Arrays(x, np.column_stack([y, y[::-1]]), x, np.column_stack([y, y[::-1]]), None),
        "text": Arrays(text, text, text, text, 30, tokens=True),
    }


@pytest.mark.parametrize("kind", ["numbers", "several", "text"])
@pytest.mark.parametrize("name", list(partitions))
def test_every_partition_divides_numbers_and_texts(name, kind):
    arrays = sound(kind, kinds_of_data()[kind])
    strata = arrays.strata()
    assert np.bincount(strata).tolist() == [200 // STRATA] * STRATA
    split = partitions[name](strata, 5, np.random.default_rng(1))
    assert sorted(np.concatenate(split).tolist()) == list(range(200))
    assert min(map(len, split)) > 0


def test_by_label_gives_a_node_a_range_of_numbers_or_a_place_of_the_text():
    for kind, arrays in kinds_of_data().items():
        split = partitions["by_label"](arrays.strata(), 5, np.random.default_rng(1), pieces=1)
        by = np.arange(200) if kind == "text" else arrays.train_y.reshape(200, -1)[:, 0]
        ranges = sorted((by[rows].min(), by[rows].max()) for rows in split)
        assert all(one[1] < two[0] for one, two in pairwise(ranges))


def test_partition_py_names_the_strata(tmp_path):
    g = np.random.default_rng(0)
    path = as_csv(tmp_path / "t.csv", {"a": g.random(100), "y": g.random(100)})
    done = typed(
        *("dataset=file", f"dataset.path={path}", "dataset.column=y", "nodes=2", "batch_size=4", "partition=by_label"),
        cwd=tmp_path,
        script="bench/partition.py",
    )
    assert done.returncode == 0, done.stderr
    assert " tenth " in done.stdout.splitlines()[0]
    assert "│    0 │      40 │" in done.stdout
