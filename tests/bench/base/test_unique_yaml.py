"""YAML files of strangers: keys that occur twice, and aliases that make a small file very large."""

import pytest
import yaml

from bench.base.unique_yaml import LARGEST, load_unique


def test_rejects_a_key_that_occurs_twice():
    with pytest.raises(yaml.YAMLError, match="'a'"):
        load_unique("{a: 1, b: 2, a: 3}")


def nested(levels: int) -> str:
    """A list of ten numbers, and lists of ten aliases of the one before."""
    lines = ["a0: &a0 [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]"]
    lines += [f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 10)}]" for k in range(1, levels)]
    return "\n".join(lines)


def test_rejects_aliases_that_make_a_file_very_large():
    assert len(load_unique(nested(3))["a2"][9][9]) == 10
    for text in (nested(9), "a: &a [*a]"):
        with pytest.raises(yaml.YAMLError, match=str(LARGEST)):
            load_unique(text)
