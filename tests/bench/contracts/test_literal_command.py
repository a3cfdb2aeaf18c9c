"""--literal FILE:FUNCTION: a method against its author's own rule, as typed."""

import sys

import pytest

from bench import contract
from bench.base.registry import algorithms
from bench.contracts.literal import literal, load
from bench.contracts.methods import CheckFailed
from tests.algorithms.literal import RULES
from tests.helpers.few import few

RULE = """
import numpy as np


def heavy_ball(X, W, G, T, eta, beta, sign=1):
    out, M = [X], np.zeros_like(X)
    for t in range(T):
        M = beta * M + G(X, t)
        X = W @ (X - sign * eta[t] * M)
        out.append(X)
    return out


def forgets_beta(X, W, G, T, eta):
    return heavy_ball(X, W, G, T, eta, beta=0.5)


def too_short(X, W, G, T):
    return [X] * T


def one_number_each(X, W, G, T):
    return [X[:, :1]] * (T + 1)


def stumbles(X, W, G, T):
    return [X @ W] * (T + 1)


def asks_for_too_much(X, W, G, T, betta):
    return [X] * (T + 1)


def in_place(X, W, G, T, eta):
    out = [X]
    for t in range(T):
        X -= eta[t] * G(X, t)
        out.append(X)
    return out


anything = 3
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])  # where a rule lies is put there
    (tmp_path / "rules.py").write_text(RULE)
    return tmp_path / "rules.py"


@pytest.fixture
def called(file, monkeypatch, capsys):
    """Call the command with the first check and a rule; return its exit code and output."""
    monkeypatch.chdir(file.parent)
    monkeypatch.setattr(contract.of_methods, "CHECKS", contract.of_methods.CHECKS[:1])
    return lambda rule: (contract.main(["dsgdm", "--literal", rule]), capsys.readouterr().out)


def test_the_command_passes_if_the_method_equals_the_rule(called):
    code, text = called("rules.py:heavy_ball")
    assert (code, text.count("\n  PASS")) == (0, 2)
    assert "rules.py:heavy_ball" in text.splitlines()[-1]


def test_the_command_fails_at_the_first_step_that_differs(called):
    code, text = called("rules.py:forgets_beta")
    assert (code, text.count("\n  PASS"), text.count("\n  FAIL")) == (1, 1, 1)
    assert "differs after step 2, by " in text


@pytest.mark.parametrize(
    ("words", "value"),
    [
        (("dsgdm", "--literal", "rule.py:heavy_ball"), "no file 'rule.py'"),
        (
            ("dsgdm", "--literal", "rules.py:heavy_bal"),
            "'heavy_bal'. Did you mean 'heavy_ball'",
        ),
        (("dsgdm", "--literal", "rules.py:anything"), "'anything'"),
        (
            ("dsgdm", "--literal", "rules.py"),
            "got 'rules.py'",
        ),
        (
            ("dsgdm", "--literal", "broken.py:f"),
            "ZeroDivisionError: division by zero (line 2)",
        ),
        (("dsgdm", "--literal", "rules.txt:f"), "'rules.txt'"),
        (("dsgdm", "dsgd", "--literal", "rules.py:heavy_ball"), "['dsgdm', 'dsgd']"),
        (("--literal", "rules.py:heavy_ball"), "[]"),
        (("sign", "--literal", "rules.py:heavy_ball"), "['sign']"),
    ],
)
def test_rejects_rules_that_cannot_be_compared(file, words, value, monkeypatch, capsys):
    (file.parent / "broken.py").write_text("x = 0\n1 / x\n")
    (file.parent / "rules.txt").write_text("")
    monkeypatch.chdir(file.parent)
    assert contract.main(words) == 2
    assert value in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("too_short", r"51 arrays \(6, 4\), got 50 arrays \(6, 4\)"),
        ("one_number_each", r"got 51 arrays \(6, 1\)"),
        ("stumbles", r"ValueError: .*\(line 27\)"),
        ("asks_for_too_much", "'betta'.* Did you mean 'beta'"),
        ("in_place", "in_place"),
    ],
)
def test_an_invalid_rule_fails(file, name, value):
    where = f"{file}:{name}"
    with pytest.raises(CheckFailed, match=value):
        literal(load(where), where)(algorithms["dsgdm"])


def test_a_rule_may_import_what_lies_beside_it(file):
    (file.parent / "mine.py").write_text("import rules\nrule = rules.heavy_ball\n")
    literal(load(f"{file.parent / 'mine.py'}:rule"), "mine.py:rule")(algorithms["dsgdm"])


ONE_TENSOR = [name for name in RULES if name != "demuon"]
"""Its literal rule is of a model of two tensors."""


@pytest.mark.parametrize("name", few(ONE_TENSOR, ["proxskip", "push_pull", "adam"]))
def test_the_rules_of_the_suite_pass(name):
    """With coins, on networks that point one way, with an exact average …"""

    def rule(X, W, G, T, options, coin, push, pull):
        by = (push, pull) if name in ("sgp", "push_diging", "push_pull") else W
        return RULES[name](X, by, G, options["schedule"], T, {**options, "coin": coin})

    literal(rule, name)(algorithms[name])
