"""Options as they are written in figures and tables: letters where they have one."""

from __future__ import annotations

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
