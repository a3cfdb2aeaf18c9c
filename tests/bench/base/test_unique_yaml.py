"""YAML files of strangers: keys that occur twice, and aliases that make a small file very large."""

import pytest
import yaml

from bench.base.unique_yaml import LARGEST, LONGEST, UniqueTexts, load_unique


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
        for loader in (None, UniqueTexts):
            with pytest.raises(yaml.YAMLError, match=str(LARGEST)):
                load_unique(text, loader)


def test_accepts_a_long_file_without_aliases():
    """As a network file with its pairs of 202 sites."""
    sites, pair = 202, "{sites: [0, 1], latency: 1}"
    assert len(load_unique(f"pairs: [{', '.join([pair] * (sites * (sites - 1) // 2))}]")["pairs"]) == 20301


def test_accepts_a_mapping_that_is_merged_above_its_place():
    text = "list:\n  - - &c {x: 1}\n    - &b {<<: *c, x: 2}\na: {<<: *b}\n"
    assert load_unique(text) == yaml.safe_load(text) == {"list": [[{"x": 1}, {"x": 2}]], "a": {"x": 2}}


@pytest.mark.parametrize("text", ["1:30", "0:30.5", "-1:1:1", "9" * 5000, "0x" + "f" * 5000, "1_" * 5000 + "0"])
@pytest.mark.parametrize("tag", ["", "!!int ", "!!float "])
def test_numbers_in_base_60_and_very_long_ones_stay_texts(tag, text):
    assert load_unique(f"a: {tag}{text}") == {"a": text}


def test_other_numbers_are_those_of_pyyaml():
    text = "[1, -2_000, 010, 0b11, 0x1f, 1.5, 1.0e+3, .inf, -0.5, !!float 3]"
    assert load_unique(text) == yaml.safe_load(text) == [1, -2000, 8, 3, 31, 1.5, 1000.0, float("inf"), -0.5, 3.0]


@pytest.mark.parametrize(
    "text", ["!!timestamp x", "!!bool x", '!!int ""', "!!int x", "2026-99-99", "[" * 5000, "!" + "x" * 9000 + " 1"]
)
def test_a_value_that_cannot_be_read_is_a_short_yaml_error(text):
    with pytest.raises(yaml.YAMLError) as caught:
        load_unique(text)
    assert len(str(caught.value)) <= LONGEST


def test_an_escape_beyond_unicode_is_no_yaml():
    with pytest.raises(yaml.YAMLError):
        load_unique('"\\UFFFFFFFF"')
