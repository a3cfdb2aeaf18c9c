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


def test_accepts_a_long_file_without_aliases():
    """As a network file with its pairs of 202 sites."""
    sites, pair = 202, "{sites: [0, 1], latency: 1}"
    assert len(load_unique(f"pairs: [{', '.join([pair] * (sites * (sites - 1) // 2))}]")["pairs"]) == 20301


def test_accepts_a_mapping_that_is_merged_above_its_place():
    text = "list:\n  - - &c {x: 1}\n    - &b {<<: *c, x: 2}\na: {<<: *b}\n"
    assert load_unique(text) == yaml.safe_load(text) == {"list": [[{"x": 1}, {"x": 2}]], "a": {"x": 2}}
