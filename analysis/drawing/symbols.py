"""Options as they are written in figures and tables: letters where they have one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

LETTERS = {
    **{"alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "zeta": "ζ", "eta": "η", "theta": "θ"},
    **{"kappa": "κ", "lambda": "λ", "lambda_": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "rho": "ρ", "sigma": "σ"},
    **{"tau": "τ", "phi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω"},
}


def symbol(option: str) -> str:
    return LETTERS.get(option) or option.replace("_", " ")


def in_symbols(values: Mapping[str, float | str], equals: str = " = ") -> str:
    """η = 0.1, β = 0.9, constant"""
    return ", ".join(v if isinstance(v, str) else f"{symbol(option)}{equals}{v:g}" for option, v in values.items())


def what_is_tuned(options: Iterable[str]) -> str:
    """The word for it: a stepsize, where that is all."""
    found = set(options)
    if found == {"eta", "schedule"}:
        return "stepsize and schedule"
    return "stepsize" if found <= {"eta"} else "schedule" if found == {"schedule"} else "setting"


def with_values(label: str, settings: Iterable[dict[str, float | str]], each: bool = False) -> str:
    """The label with the values of tuned options, of those that are one and the same wherever they were chosen; with
    ``each`` also of others, in the order of the panels."""
    settings = list(settings)
    found: dict[str, set[float | str]] = defaultdict(set)
    for option, value in (item for values in settings for item in values.items()):
        found[option].add(value)
    shared = {option: next(iter(values)) for option, values in found.items() if len(values) == 1}
    told = [in_symbols(shared)] if shared else []
    if each:
        rest = {option: [values[option] for values in settings if option in values] for option in found}
        for option, values in ((option, values) for option, values in rest.items() if option not in shared):
            words = [value if isinstance(value, str) else f"{value:g}" for value in values]
            told.append(f"{symbol(option)} = {' / '.join(words)}")
    return ", ".join([label, *told])
