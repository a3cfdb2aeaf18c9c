"""A run is called what it was called: new settings and options at their neutral values are no part of its name."""

import json
from pathlib import Path
from typing import Annotated, Literal

import pytest

from bench.base.options import Neutral, Positive
from bench.base.registry import algorithms
from bench.config.choices import options_of
from bench.config.run_config import parse
from tests.helpers.configs import BASE, config

KEPT = json.loads(Path(__file__).with_name("run_ids.json").read_text())


def test_fifty_names():
    assert len(KEPT) == 50
    for run_id, values in KEPT.items():
        assert parse({**BASE, **values}).run_id == run_id


class Newer(algorithms["dsgd"]):
    """D-SGD as it might be a year from now."""

    order: Annotated[Literal["atc", "cta"], Neutral("atc")] = "cta"
    decay: Annotated[Positive, Neutral(1.0)] = 1.0


@pytest.fixture
def newer(monkeypatch):
    monkeypatch.setitem(algorithms._items, "dsgd", Newer)
    options_of.cache_clear()
    yield
    options_of.cache_clear()


@pytest.mark.usefixtures("newer")
def test_a_new_option_renames_nothing():
    old = parse({**BASE, **KEPT[DSGD], "algo": {**KEPT[DSGD]["algo"]}})
    assert old.run_id == DSGD
    assert old.algo.options["order"] == "atc"  # a file from before it means the neutral value, not the default
    named = parse({**BASE, **KEPT[DSGD], "algo": {**KEPT[DSGD]["algo"], "order": "atc", "decay": 1.0}})
    assert named.run_id == DSGD
    other = parse({**BASE, **KEPT[DSGD], "algo": {**KEPT[DSGD]["algo"], "order": "cta"}})
    assert other.run_id != DSGD
    assert other.labels()["order"] == "cta"


DSGD = next(name for name, values in KEPT.items() if values["algo"]["name"] == "dsgd")


@pytest.mark.usefixtures("newer")
def test_limits_hold_for_an_option_with_a_neutral_value():
    with pytest.raises(Exception, match=r"algo.decay .* 0"):
        config(algo={"name": "dsgd", "decay": 0})
