"""Asynchronous methods keep their promises, and the checks notice those that do not."""

from dataclasses import replace
from typing import NamedTuple

import pytest
import torch
from torch import Tensor

from bench import contract as command
from bench.base.errors import UserError
from bench.base.registry import algorithms
from bench.contracts import asynchronous as contract
from bench.contracts import methods
from bench.contracts.fixtures import SKIP, CheckFailed, with_options
from bench.contracts.play import play
from bench.training.events import Events
from tests.algorithms.asynchronous import mutants
from tests.algorithms.asynchronous.test_literal import VARIANTS
from tests.algorithms.asynchronous.worlds import ASYNCHRONOUS
from tests.helpers.few import few

LONG = (contract.average, contract.end)
SHORT = tuple(check for check in contract.CHECKS if check not in LONG)
MESSAGES = [name for name in ASYNCHRONOUS if algorithms[name].properties.events == "messages"]
SOUND = (mutants.SendsNew,)
"""Another method, but not a wrong one: only the literal rule notices it."""
QUICK = [mutants.WrongPartner, mutants.FirstReplica, mutants.Peeks, mutants.SendsTwice, mutants.Remembers]


def failure(cls, checks):
    """The name of the first check that fails."""
    for check in checks:
        try:
            check(cls)
        except Exception:
            return check.__name__
    return None


@pytest.mark.parametrize("name", few(ASYNCHRONOUS, ["adpsgd", "rasgp"]))
def test_promises(name):
    assert methods.checks_of(algorithms[name]) == contract.CHECKS
    for check in SHORT:
        check(algorithms[name])


@pytest.mark.parametrize("name", few(ASYNCHRONOUS, ["adpsgd"]))
def test_every_method_agrees_and_ends_where_it_declares(name):
    for check in LONG:
        check(algorithms[name])


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_variants_keep_their_promises_too(name, variant):
    for check in contract.CHECKS:
        check(with_options(algorithms[name], variant))


@pytest.mark.parametrize("cls", few(mutants.METHODS, QUICK))
def test_wrong_methods_are_named(cls):
    assert (failure(cls, (*SHORT, *LONG)) is None) == (cls in SOUND)


def declared(cls, **changes):
    return type(cls.__name__, (cls,), {"properties": replace(cls.properties, **changes)})


def test_swift_does_not_keep_the_mean():
    with pytest.raises(CheckFailed, match="keeps_mean"):
        contract.average(declared(algorithms["swift"], keeps_mean=True))


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["adpsgd", "acid"])
def test_methods_of_pairs_do_not_end_near_the_minimizer(name):
    assert contract.end(algorithms[name]) == SKIP
    with pytest.raises(CheckFailed, match="elsewhere"):
        contract.end(declared(algorithms[name], fixed_point="near"))


class Quiet(algorithms["swift"]):
    """Sends after gradients after which it declares not to."""

    @staticmethod
    def sends_after(number, **options):
        return number % 2 == 0


@pytest.mark.parametrize(("name", "options"), [*((name, {}) for name in MESSAGES), ("swift", {"every": 3})])
def test_every_message_on_the_tape_is_sent(name, options, monkeypatch):
    """Other messages would occupy links, and could replace those that are sent."""
    taken, take = [], Events._take
    monkeypatch.setattr(Events, "_take", lambda *words: taken.append(take(*words)) or taken[-1])
    play(algorithms[name], lambda x, numbers: x, torch.ones(1, 6, 2, dtype=torch.float64), 10, options)
    assert taken
    assert all(payload is not None for payload in taken)


def test_a_message_that_the_tape_does_not_have_is_an_error():
    with pytest.raises(UserError, match="sends_after"):
        play(Quiet, lambda x, numbers: x, torch.ones(1, 6, 2, dtype=torch.float64), 4)


class Shares(algorithms["acid"]):
    """Both models are one tensor."""

    def begin(self, x):
        return super().begin(x)._replace(y=x)


class Unread(algorithms["adpsgd"]):
    """Keeps a state that nobody reads."""

    class State(NamedTuple):
        x: Tensor
        m: Tensor

    def begin(self, x):
        return self.State(x, x.clone())


@pytest.mark.parametrize(
    ("cls", "check"),
    [
        (Shares, contract.form),
        (Unread, contract.states_read),
        (declared(algorithms["swift"], vectors_per_step=2), contract.cost),
        (declared(algorithms["rasgp"], scalars_per_step=0), contract.cost),
        (declared(algorithms["adpsgd"], vectors_per_step=0), contract.cost),
        (declared(algorithms["swift"], vectors_per_step=1.5), contract.cost),
    ],
)
def test_a_broken_promise_is_named(cls, check):
    assert failure(cls, [check]) == check.__name__


def test_the_command_checks_asynchronous_methods(capsys):
    assert command.main(["adpsgd", "algo.equal_weights=true"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith(("  PASS", "  SKIP")) for line in lines) == len(contract.CHECKS)


def test_a_rule_of_steps_cannot_be_compared(capsys):
    assert command.main(["swift", "--literal", "rule.py:rule"]) == 2
    assert "swift" in capsys.readouterr().err
