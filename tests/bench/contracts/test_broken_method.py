"""contract.py with a method whose code raises errors or returns malformed states: one FAIL that names the line."""

from typing import NamedTuple

import pytest
import torch
from torch import Tensor

from algorithms.dsgd import DSGD
from bench import contract
from bench.base.authors import blamed, flaw
from bench.base.registry import algorithms, discover
from bench.contracts import fixtures, form, methods, network


class State(NamedTuple):
    x: Tensor
    m: Tensor


class KeepsATuple(DSGD):
    def start(self, x, grad, mix):
        return State(x, x)

    def step(self, s, t, grad, mix):
        return State(s.x, mix(s.x))


class UsesATuple(DSGD):
    def step(self, s, t, grad, mix):
        mixed = mix(s.x)
        return s._replace(x=mixed - self.eta[t] * grad(mixed, t))  # the line


class UsesANamelessTuple(DSGD):
    def step(self, s, t, grad, mix):
        return s._replace(x=mix(s.x) - self.eta[t] * grad(s.x, t))  # the line


class AveragesTheNodes(DSGD):
    def step(self, s, t, grad, mix):
        return s._replace(x=s.x.mean(1))


class NoNamedTuple(DSGD):
    def start(self, x, grad, mix):
        return x


class FailsAlone(DSGD):
    def step(self, s, t, grad, mix):
        return super().step(s, 1 // (s.x.shape[1] - 1) + t, grad, mix)  # the line


def printed(cls, monkeypatch, capsys) -> list[str]:
    """Return what the command prints about a method."""
    discover()
    monkeypatch.setitem(algorithms._items, "mine", cls)
    assert contract.main(["mine"]) == 1
    return capsys.readouterr().out.splitlines()[1:]


@pytest.mark.parametrize(
    ("cls", "values"),
    [
        (KeepsATuple, ["state m", "`(m,) = mix("]),
        (AveragesTheNodes, ["state x", "(2, 4)", "(2, 6, 4)"]),
        (NoNamedTuple, ["NamedTuple", "Tensor"]),
    ],
)
def test_a_malformed_state_ends_the_checks(cls, values, monkeypatch, capsys):
    head, reason, rest = printed(cls, monkeypatch, capsys)
    assert head.startswith("  FAIL  ")
    assert all(value in reason for value in values)
    assert "23 of 24" in rest


@pytest.mark.parametrize(("cls", "cause"), [(UsesATuple, "`(mixed,) = mix("), (UsesANamelessTuple, "`(x,) = mix(")])
def test_the_line_and_the_tuple_that_raises_are_named_once(cls, cause, monkeypatch, capsys):
    head, reason, line, hint, rest = printed(cls, monkeypatch, capsys)
    assert head.startswith("  FAIL  ")
    assert reason.strip().startswith("TypeError: ")
    assert "test_broken_method.py:" in line
    assert line.endswith("# the line")
    assert cause in hint
    assert "23 of 24" in rest


def test_the_checks_before_the_error_are_shown(monkeypatch, capsys):
    monkeypatch.setattr(methods, "CHECKS", (form.shapes, network.one_node, form.counts, network.one_voice))
    passed, failed, reason, line, rest = printed(FailsAlone, monkeypatch, capsys)
    assert (passed[:8], failed[:8]) == ("  PASS  ", "  FAIL  ")
    assert "ZeroDivisionError" in reason
    assert line.endswith("# the line")
    assert "2 of 4" in rest


def test_a_failed_check_does_not_end_the_others(monkeypatch, capsys):
    class MixesTwice(DSGD):
        def step(self, s, t, grad, mix):
            mix(s.x)
            return super().step(s, t, grad, mix)

    monkeypatch.setattr(methods, "CHECKS", (form.shapes, form.counts, network.one_node))
    assert [line[:8] for line in printed(MixesTwice, monkeypatch, capsys)] == [
        "  PASS  ",
        "  FAIL  ",
        " " * 8,
        "  PASS  ",
    ]


def test_options_and_subclasses_of_a_check_do_not_hide_the_line(monkeypatch):
    with pytest.raises(TypeError) as caught:
        form.nothing_in_place(cls := fixtures.with_options(UsesATuple, {"eta": 0.5}))
    assert blamed(caught.value, cls)[0].endswith("# the line")


def test_an_error_without_a_line_of_the_author():
    with pytest.raises(ZeroDivisionError) as caught:
        exec("1 / 0", {"__name__": "somewhere"})
    assert blamed(caught.value, torch.nn.Linear) == []


def test_states_of_other_sizes_are_well_formed():
    x = torch.zeros(2, 3, 4)
    assert flaw(State(x, x[..., :1]), x.shape, 0) is None
    assert "float" in (flaw(State(x, 0.5), x.shape, 0) or "")
    assert "(2, 4)" in (flaw(State(x, x[:, 0]), x.shape, 0) or "")
