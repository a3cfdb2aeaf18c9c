"""Names and values of options in figures and tables, with Greek letters."""

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
    """η = 0.1, β = 0.9, constant schedule"""
    words = {
        option: f"{v} {option}" if isinstance(v, str) else f"{symbol(option)}{equals}{v:g}"
        for option, v in values.items()
    }
    return ", ".join(words.values())


def what_is_tuned(options: Iterable[str]) -> str:
    """Return the noun for the tuned options: stepsize, schedule, both, or setting."""
    found = set(options)
    if found == {"eta", "schedule"}:
        return "stepsize and schedule"
    return "stepsize" if found <= {"eta"} else "schedule" if found == {"schedule"} else "setting"


def with_values(label: str, settings: Iterable[dict[str, float | str]], each: bool = False) -> str:
    """Append the values of tuned options that all panels share; with ``each``, also the other values, in the order of
    the panels."""
    found: dict[str, list[float | str]] = defaultdict(list)
    for option, value in (item for values in settings for item in values.items()):
        found[option].append(value)
    shared = {option: values[0] for option, values in found.items() if len(set(values)) == 1}
    parts = [label, in_symbols(shared)] if shared else [label]
    for option, values in found.items():
        if each and option not in shared:
            words = [value if isinstance(value, str) else f"{value:g}" for value in values]
            parts.append(f"{symbol(option)} = {' / '.join(words)}")
    return ", ".join(parts)
