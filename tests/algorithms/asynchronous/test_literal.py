"""Every asynchronous method equals its rule as printed, on the same tape, after every event."""

from importlib import import_module

import pytest

from bench.base.errors import UserError
from bench.base.registry import algorithms
from bench.contracts.play import Pace
from tests.algorithms.asynchronous.mutants import ENGINES, METHODS
from tests.algorithms.asynchronous.worlds import differences, replicas_of
from tests.algorithms.literal.asynchronous import RULES
from tests.helpers.few import few

PACES = {
    "ring": Pace(),
    "path": Pace("path", slow=2.5, delay=2.3, seed=1),
    "star": Pace("star", nodes=5, delay=0.1, seed=2),
    "grid": Pace("grid", jitter=0.8, seed=3),
    "at once": Pace(slow=1, jitter=0, seed=4),
}
LOSSY = {"lossy": Pace(drop=0.3, seed=5), "lossy star": Pace("star", nodes=5, drop=0.2, delay=1.7)}
DIRECTED = {"directed": Pace("directed_ring", seed=6), "digraph": Pace("random_digraph", nodes=7, delay=1.2, seed=7)}
BY_METHOD = {
    **dict.fromkeys(("adpsgd", "acid"), PACES),
    **{name: {**PACES, **LOSSY, "directed": DIRECTED["directed"]} for name in ("swift", "asy_sonata")},
    "osgp": {**PACES, **DIRECTED},
    "rasgp": {**PACES, **LOSSY, **DIRECTED, "both": Pace("directed_ring", drop=0.25, seed=8)},
}
CASES = [(name, place) for name, paces in BY_METHOD.items() for place in paces]
QUICK = [case for case in CASES if case[1] in ("ring", "lossy star", "digraph")]
VARIANTS = [
    ("adpsgd", {"equal_weights": True}),
    ("swift", {"every": 2}),
    ("swift", {"every": 3}),
    ("acid", {"rate": 3}),
    ("acid", {"accelerate": False}),
]


@pytest.mark.parametrize(("name", "place"), few(CASES, QUICK))
def test_equals_the_literal_rule(name, place):
    assert max(differences(algorithms[name], RULES[name], BY_METHOD[name][place], replicas_of(name))) <= 1e-12


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_variants_equal_their_literal_rules(name, variant):
    off = differences(algorithms[name], RULES[name], PACES["ring"], replicas_of(name, variant))
    assert max(off) <= 1e-12


def wrong(cls, name: str) -> bool:
    """Whether a wrong method, or one on a wrong engine, fails or differs from the rule of ``name``."""
    paces = [Pace(delay=1.7), *([Pace(delay=1.7, drop=0.3)] if cls.properties.events == "messages" else [])]
    try:
        return any(max(differences(cls, RULES[name], pace, replicas_of(name))) > 1e-9 for pace in paces)
    except UserError:
        return True


@pytest.mark.parametrize("cls", METHODS)
def test_wrong_methods_are_noticed(cls):
    assert wrong(cls, cls.properties.name)


@pytest.mark.parametrize(("engine", "name"), ENGINES)
def test_wrong_engines_are_noticed(engine, name, monkeypatch):
    monkeypatch.setattr(import_module("bench.contracts.play"), "Events", engine)
    assert wrong(algorithms[name], name)
