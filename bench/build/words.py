"""Cost, requirements and provenance of a method in words, from its properties."""

from __future__ import annotations

import re

from bench.method import Algorithm, Properties

KINDS = ("gossip", "compressed", "directed", "asynchronous", "reference")
"""Kinds of methods, by the network that they need, in the order of the table."""
EVENTS = {
    "messages": ("no waiting", "sends {cost} to each neighbor when a gradient ends, and never waits"),
    "pairs": ("pairs", "exchanges {cost} with one neighbor when a gradient ends"),
    "meetings": ("random pairs", "exchanges {cost} with one neighbor at random times, while it computes"),
    "one_late": (
        "one step late",
        "sends {cost} to each neighbor when a gradient ends, which it uses one step late",
    ),
}
"""The patterns of asynchronous methods, in the column rounds and in a sentence."""
HORIZON = "n is the number of nodes, T the number of steps; h is t (diminishing) or T (fixed)."


def kind(properties: Properties) -> str:
    """Return the kind of a method, one of ``KINDS``."""
    if properties.asynchronous:
        return "asynchronous"
    if properties.exact_average:
        return "reference"
    if properties.mixes != "doubly":
        return "directed"
    return "compressed" if properties.compresses != "no" else "gossip"


def _counted(number: float, noun: str) -> str:
    return f"{number:g} {noun}{'s' * (number != 1)}"


def _scalars(properties: Properties) -> str:
    return f" and {_counted(properties.scalars_per_step, 'number')}" if properties.scalars_per_step else ""


def sends(properties: Properties) -> str:
    """Return the vectors and single numbers that a step sends to each neighbor, or that a message has."""
    return f"{properties.vectors_per_step:g}{_scalars(properties)}" + ", compressed" * (properties.compresses != "no")


def rounds(properties: Properties) -> str:
    """Return the rounds of a step, or when the nodes of an asynchronous method communicate."""
    return EVENTS[properties.events][0] if properties.events else f"{properties.rounds:g}"


def costs(properties: Properties) -> tuple[str, str]:
    """Return what a step or an event costs: its name in the description of a method, and a sentence."""
    cost = f"{_counted(properties.vectors_per_step, 'vector')}{_scalars(properties)}"
    if properties.events:
        return "a node", EVENTS[properties.events][1].format(cost=cost)
    compressed = ", compressed," if properties.compresses != "no" else ""
    start = {"sample": properties.start_samples, "round": properties.start_rounds}
    used = " and ".join(f"{count} {noun}" for noun, count in start.items() if count)
    return "a step", (
        f"sends {cost}{compressed} to each neighbor "
        f"in {_counted(properties.rounds, 'round')}, evaluates {_counted(properties.gradients, 'gradient')} on "
        f"{_counted(properties.samples, 'sample')} per node" + (f"; the start uses {used}" if used else "")
    )


def requirements(properties: Properties) -> str:
    """Return the requirements of the method on the network and the floating-point type."""
    requires = {
        "the exact average": properties.exact_average,
        f"λₙ > {properties.lambda_min or 0:.2g}": properties.lambda_min is not None,
        properties.mixes: properties.mixes != "doubly",
        "the same W every round": properties.static,
        "a network": properties.asynchronous,
        "a bipartite graph": properties.events == "pairs",
        "an undirected graph": properties.events == "meetings",
        "float64": properties.requires_float64,
    }
    return ", ".join(text for text, holds in requires.items() if holds)


def status(properties: Properties) -> str:
    """Return the provenance of the rule, with the mark of a method that no ranking includes."""
    return f"{properties.provenance if properties.published else 'unpublished'} {properties.mark}".rstrip()


def assumptions(properties: Properties) -> str:
    """Return the assumptions of the theory beyond smoothness and bounded variance."""
    more = ["exact gradients"] * properties.exact + ["equal initial points"] * properties.common_start
    return ", ".join([*properties.assumes, *more])


def knowledge(properties: Properties) -> str:
    """Return the problem parameters that the stepsizes need."""
    return ", ".join(properties.needs) or "only n and T"


def stepsize_rule(method: type[Algorithm]) -> str:
    """Return the formulas of the stepsizes, with the meaning of h if they use it without one."""
    text = " ".join((method.stepsizes.__doc__ or "").partition("Args:")[0].split())
    undefined = re.search(r"\bh\b", text) and "h =" not in text
    return f"{text} {HORIZON}" if undefined else text


def short(cite: str) -> str:
    """Return the citation up to its year."""
    return re.sub(r"(\b(?:19|20)\d\d\b).*", r"\1", cite)
