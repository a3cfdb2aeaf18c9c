"""Rules of docstrings become LaTeX."""

import re
import unicodedata

import pytest
from docutils.utils.math.latex2mathml import tex2mathml

from bench.base.registry import algorithms
from hearsay_site.rules import UnknownSymbol, markdown, statements


@pytest.mark.parametrize(
    ("rule", "latex"),
    [
        ("X⁺ = W (X − η_t G(X))", r"$X^{+} = W (X - \eta_{t} G(X))$"),
        ("X̃ = X − η_{t−1} unit(Z)", r"$\tilde{X} = X - \eta_{t-1} \operatorname{unit}(Z)$"),
        ("√((V + ε)/(1−β₂ᵏ)) + ε", r"$\sqrt{(V + \varepsilon)/(1-\beta_{2}^{k})} + \varepsilon$"),
        ("√max(U½, ε)", r"$\sqrt{\max(U^{1/2}, \varepsilon)}$"),
        ("Λ⁺ = Λ + Δt", r"$\Lambda^{+} = \Lambda + \Delta t$"),
        ("β₁^(t+1)", r"$\beta_{1}^{t+1}$"),
        ("n^¼/h^¾", r"$n^{1/4}/h^{3/4}$"),
        ("‖S⁺‖₁ ≤ ⟨ḡ, X⁰ − X⟩", r"$\|S^{+}\|_{1} \le \langle\bar{g}, X^{0} - X\rangle$"),
        ("S⁰ = 1e-8. Results are measured at x̂.", r"$S^{0} = 10^{-8}$. Results are measured at $\hat{x}$."),
        ("G(X⁺; s) + A_off w", r"$G(X^{+}; s) + A_{\mathrm{off}} w$"),
        ("w_ii V + Σ_j w_ij (last V of j)", r"$w_{ii} V + \sum_{j} w_{ij}$ (last $V$ of $j$)"),
        ('κ is ``pull``, with average="gradient"', r'$\kappa$ is `pull`, with `average="gradient"`'),
        ("a step of D-NASA, row-stochastic", "a step of D-NASA, row-stochastic"),
    ],
)
def test_translates_a_rule(rule, latex):
    assert markdown(rule) == latex


@pytest.mark.parametrize("rule", ["X ⊕ Y", "x_⊕", "√(X"])
def test_rejects_what_it_does_not_know(rule):
    with pytest.raises(UnknownSymbol):
        markdown(rule)


def test_sentences_that_continue_are_one_statement():
    assert list(statements("\n    X⁺ = X,  Y⁺ = Y\n    X is averaged\n    before it is used\n")) == [
        "$X^{+} = X$,",
        "$Y^{+} = Y$",
        "$X$ is averaged before it is used",
    ]


PLAIN = {r"\operatorname": "", r"\mathrm": "", r"\mathcal": "", r"\min": "min", r"\max": "max", r"\exp": "exp"}


@pytest.mark.parametrize("name", list(algorithms))
def test_the_rule_of_a_method_keeps_its_letters_and_is_valid_mathematics(name):
    body = (algorithms[name].__doc__ or "").strip().partition("\n")[2]
    rows = list(statements(body))
    for formula in re.findall(r"\$([^$]+)\$", "\n".join(rows)):
        assert "<math" in tex2mathml(formula)
    said = " ".join(rows)
    typed = unicodedata.normalize("NFD", body).replace("1e-", "").replace("ᵏ", "k").replace("ℒ", "L")
    for command, word in PLAIN.items():
        said = said.replace(command, word)
    letters = re.findall("[A-Za-z]", re.sub(r"\\[a-z]+", "", said, flags=re.IGNORECASE))
    assert "".join(letters) == "".join(re.findall("[A-Za-z]", typed))
