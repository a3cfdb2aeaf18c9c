"""The pages of methods, from the registry: rule, costs, options, citation, and a figure of the stored curves."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from analysis.report.bibtex import bibliography_of
from bench.base.provenance import MARKS, PROVENANCE
from bench.base.registry import algorithms
from bench.build.words import (
    assumptions,
    costs,
    kind,
    knowledge,
    requirements,
    rounds,
    sends,
    short,
    status,
    stepsize_rule,
)
from bench.config.names import CONF
from bench.config.reference import described
from bench.method import Algorithm, Properties
from bench.methods import ALL, NODE, checked_properties, example
from hearsay_site.board import on_the_board, standings
from hearsay_site.curves import stored, words
from hearsay_site.plot import plot
from hearsay_site.rules import UnknownSymbol, markdown, statements
from hearsay_site.text import ORPHAN, catalog, facts, html, table

HEAD = ("method", "kind", "must know", "assumes", "sends", "rounds", "gradients", "rule", "paper")
CURVES = ("gradient norm at the average iterate", "consensus error")


def pages() -> Iterator[tuple[str, str]]:
    """Yield the table of all methods, and the page of each."""
    found = {name: algorithms[name].declare_for({}) for name in algorithms}
    yield "catalog/methods.md", "\n\n".join(index(found))
    curves, ranked = stored(), standings()
    for name, properties in found.items():
        parts = [*head(algorithms[name], properties), *rule(algorithms[name], properties), *glance(properties)]
        parts += [*options(algorithms[name]), *behavior(name, curves), *on_the_board(ranked.get(name, []))]
        parts += [*citation(properties), *source(name)]
        yield f"catalog/methods/{name}.md", "\n\n".join(parts) + "\n"


def index(found: dict[str, Properties]) -> Iterator[str]:
    yield "# All methods"
    yield (
        f"The suite has {len(found)} methods. Click a name for its rule, its options and a figure. Click a column to "
        "sort by it. n is the number of nodes, T the number of steps. "
        "[Methods](../docs/methods.md) explains the columns."
    )
    rows = [
        (
            f"[{p.label}](methods/{name}.md) `{name}`", kind(p), knowledge(p),
            assumptions(p), sends(p), rounds(p), f"{p.gradients}", status(p), short(p.cite),
        )
        for name, p in found.items()
    ]  # fmt: skip
    yield catalog(HEAD, sorted(rows, key=lambda row: str(row[0]).lower()))
    yield from (f"{mark} {note}." for mark, note in MARKS.items() if mark in {p.mark for p in found.values()})


def head(cls: type[Algorithm], properties: Properties) -> Iterator[str]:
    yield f"{ORPHAN}# {properties.label}"
    yield f"[All methods](../methods.md) · `algo={properties.name}`"
    yield (cls.__doc__ or "").strip().partition("\n")[0]


def rule(cls: type[Algorithm], properties: Properties) -> Iterator[str]:
    """Yield the rule as mathematics; as it stands in the docstring if a symbol has no translation."""
    yield "## Rule"
    body = (cls.__doc__ or "").strip().partition("\n")[2]
    try:
        yield ":::{container} rule\n" + "\n\n".join(statements(body)) + "\n:::"
    except UnknownSymbol:
        yield "```text\n" + textwrap.dedent(body).strip() + "\n```"
        yield "This rule is shown as in the docstring, because one of its symbols has no translation to LaTeX."
    symbol, text = NODE if properties.asynchronous else ALL
    yield f"{markdown(symbol)}: {markdown(text)}."
    if formulas := stepsize_rule(cls):
        yield f"Stepsizes: {typeset(formulas)}"


def typeset(text: str) -> str:
    """Return a text with its formulas as mathematics, or unchanged if a symbol has no translation."""
    try:
        return markdown(text)
    except UnknownSymbol:
        return text


def glance(properties: Properties) -> Iterator[str]:
    yield "## Properties"
    verified = PROVENANCE[properties.provenance] if properties.published else "unpublished"
    name, cost = costs(properties)
    yield facts(
        {
            "family": properties.family,
            "kind": kind(properties),
            f"cost of {name}": cost,
            "must know": knowledge(properties),
            "assumes": assumptions(properties) or "nothing beyond smoothness and bounded variance",
            "requires": requirements(properties),
            "checked properties": ", ".join(checked_properties(properties)) or "those of every method",
            "status of the rule": verified if properties.rankable else f"{verified}; not ranked",
            "rule read in": properties.source,
        }
    )


def options(cls: type[Algorithm]) -> Iterator[str]:
    name = cls.declare_for({}).name
    file = CONF / "algo" / f"{name}.yaml"
    comments = {key: each.comment for key, each in described(file).items()} if file.is_file() else {}
    rows = []
    for option, value in cls.options().items():
        default = "null" if value.default is None else value.default
        typed = str(default).lower() if isinstance(default, bool) else default
        rows.append((f"`algo.{option}`", f"`{typed}`", comments.get(option, "")))
    yield "## Options"
    yield table(("option", "default", "meaning"), rows) if rows else "This method has no options."
    yield f"```bash\n{example(cls)}\n```"
    if "eta" in cls.stepsize_options():
        yield "For a fair comparison, tune the stepsize: add `-m algo.eta=0.001,0.01,0.1`."


def behavior(name: str, curves: dict[str, tuple[str, list[tuple[int, float, float]]]]) -> Iterator[str]:
    """Yield the figure of a stored curve."""
    if name not in curves:
        return
    steps, *values = zip(*curves[name][1], strict=True)
    legend = " ".join(f'<span class="curve{number}">{each}</span>' for number, each in enumerate(CURVES))
    drawn = plot(steps, dict(zip(CURVES, values, strict=True)))
    yield "## Behavior"
    yield html(f'<figure class="behavior">{drawn}<figcaption>{legend}</figcaption></figure>')
    yield (
        "One run with the default options, which are not tuned for this problem: do not compare methods by these "
        "figures. Each node has another quadratic function, and gradients are exact."
    )
    yield f"```bash\npython bench/run.py {' '.join(words(name))}\n```"


def citation(properties: Properties) -> Iterator[str]:
    yield "## Citation"
    yield f"{properties.cite}."
    if entries := bibliography_of({properties.name: properties.cite}).entries:
        body = "\n\n".join(f"@misc{{{key},\n{fields}\n}}" for key, fields in sorted(entries.items()))
        yield f"```bibtex\n{body}\n```"


def source(name: str) -> Iterator[str]:
    file = algorithms.file(name)
    if file is not None:
        yield f"Source: [algorithms/{file.name}](../../algorithms/{file.name})"
