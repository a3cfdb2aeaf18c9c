"""List the methods, or describe one of them.

The table has the cost, the required knowledge and the assumptions of each
method. The description adds its update rule, its options with their defaults,
and a command that runs it.

Examples:
  python bench/methods.py
  python bench/methods.py gt_nsgdm
  python bench/methods.py --markdown
  python bench/methods.py --settings
"""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    from bench.terminal.command import begin

    begin()

from bench.base.errors import UserError
from bench.base.provenance import MARKS, PROVENANCE
from bench.base.registry import algorithms, no_such, say_broken_plugins
from bench.build.words import (
    KINDS,
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
from bench.config.reference import described, settings_page
from bench.method import Algorithm, Properties
from bench.terminal.command import command
from bench.terminal.console import Console
from bench.terminal.parser import command_parser
from bench.terminal.table import show_columns

SPARED = ("cite", "assumes", "family", "requires", "kind", "rule", "gradients", "rounds")
"""Columns that a narrow terminal hides, in this order."""
WIDTH = 100
ALL = ("G(X)", "mini-batch gradients of all nodes at X; W: one round of gossip; unit(z) = z/‖z‖")
NODE = ("G_i(x)", "mini-batch gradient of node i at x; t: virtual time divided by the nominal time of a gradient")
"""Symbols of synchronous and of asynchronous rules."""


def columns() -> dict[str, list[str]]:
    """Return the columns of the table; the methods are sorted by kind and name."""
    found = [algorithms[name].declare_for({}) for name in algorithms]
    ordered = sorted(found, key=lambda properties: (KINDS.index(kind(properties)), properties.name))
    cells = {
        "method": lambda p: p.name,
        "kind": kind,
        "family": lambda p: p.family,
        "sends": sends,
        "rounds": rounds,
        "gradients": lambda p: f"{p.gradients}",
        "needs to know": lambda p: ", ".join(p.needs) or "–",
        "assumes": assumptions,
        "requires": requirements,
        "rule": status,
        "cite": lambda p: short(p.cite),
    }
    return {name: [cell(properties) for properties in ordered] for name, cell in cells.items()}


def show_all(console: Console) -> None:
    """Print the table; a narrow terminal hides columns."""
    show_columns(console, columns(), SPARED)
    for note in mark_notes():
        console.print(note, soft_wrap=True)
    console.print("python bench/methods.py NAME describes one method. All may use n and T.", soft_wrap=True)


def mark_notes() -> list[str]:
    """Return a note per mark that the table has."""
    found = {algorithms[name].declare_for({}).mark for name in algorithms}
    return [f"{mark} {note}." for mark, note in MARKS.items() if mark in found]


def markdown() -> str:
    found = columns()
    rows = ["| " + " | ".join(found) + " |", "|" + "---|" * len(found)]
    for method, *rest in zip(*found.values(), strict=True):
        rows.append(f"| [`{method}`](../algorithms/{method}.py) | " + " | ".join(rest) + " |")
    return "\n".join([*rows, *(f"\n{note}" for note in mark_notes())])


def page(name: str) -> Iterator[str]:
    """Yield the lines of the description of one method."""
    cls = algorithms[name]
    properties = cls.declare_for({})
    yield f"{properties.label} ({name})" + (f", family {properties.family}" if properties.family != name else "")
    yield ""
    yield textwrap.indent(textwrap.dedent("    " + (cls.__doc__ or "").strip()), "  ")
    yield ""
    yield from wrapped(*(NODE if properties.asynchronous else ALL))
    yield from wrapped("stepsizes", stepsize_rule(cls))
    yield from wrapped("paper", properties.cite)
    if properties.source:
        yield from wrapped("rule read in", properties.source)
    verified = PROVENANCE[properties.provenance] if properties.published else "unpublished"
    yield from wrapped("status", verified if properties.rankable else f"{verified}; not ranked")
    yield from wrapped(*costs(properties))
    yield from wrapped("needs to know", knowledge(properties))
    yield from wrapped("assumes", assumptions(properties) or "nothing beyond smoothness and bounded variance")
    if requirements(properties):
        yield from wrapped("requires", requirements(properties))
    yield from wrapped(
        "properties", ", ".join(checked_properties(properties)) or "none beyond the checks of every method"
    )
    yield ""
    yield "options, with their defaults:"
    file = CONF / "algo" / f"{name}.yaml"
    comments = {key: each.comment for key, each in described(file).items()} if file.is_file() else {}
    for option, value in cls.options().items():
        default = "null" if value.default is None else value.default
        typed = str(default).lower() if isinstance(default, bool) else default
        yield from wrapped(f"algo.{option}={typed}", comments.get(option, ""), 30)
    yield ""
    yield "example:"
    yield f"  {example(cls)}"
    if "eta" in cls.stepsize_options():
        yield "  For a fair comparison, tune the stepsize: add -m algo.eta=0.001,0.01,0.1"


def checked_properties(properties: Properties) -> list[str]:
    """Return the declared properties that ``bench/contract.py`` checks."""
    declared = {
        "steps of at most η_t": properties.bounded_step,
        "invariant to scaling f": properties.scale_free,
        "equal to the centralized method on the complete graph": properties.centralized_equivalent is True,
        "equal to SGD on the complete graph": properties.centralized_equivalent == "sgd",
        "converges to the minimizer with exact gradients": properties.fixed_point == "exact",
        f"its {properties.report} evaluated instead of x": properties.report,
    }
    return [
        *(f"mean {tracker} = mean {tracked}" for tracker, tracked in properties.tracks.items()),
        *(f"{name} sums to zero" for name in properties.zero_sum),
        *(text for text, holds in declared.items() if holds),
    ]


def example(cls: type[Algorithm]) -> str:
    """Return a command that runs the method."""
    properties = cls.declare_for({})
    words = [f"algo={properties.name}", "dataset=digits"]
    if properties.exact_average:
        words.append("topology=all_reduce")
    elif properties.mixes != "doubly":
        words.append("topology=random_digraph")
    elif properties.lambda_min is not None:
        words.append("topology.lazy=true")
    if properties.requires_float64:
        words.append("dtype=float64")
    if properties.compresses != "no":
        words.append("compressor=top_k")
    if properties.asynchronous:
        words.append("network.slow=4")
    return f"python bench/run.py {' '.join(words)}"


def wrapped(name: str, text: str, indent: int = 16) -> Iterator[str]:
    """Yield a name and its text, at most WIDTH wide; a long name has a line of its own."""
    width = min(WIDTH, shutil.get_terminal_size().columns) if sys.stdout.isatty() else WIDTH
    first = f"  {name:<{indent - 2}}"
    if len(name) > indent - 3:
        yield first.rstrip()
        first = ""
    lines = textwrap.wrap(text, max(20, width - indent), break_on_hyphens=False) or [""]
    yield f"{first:{indent}}{lines[0]}".rstrip()
    yield from (" " * indent + line for line in lines[1:])


@command
def main(argv: Sequence[str] | None = None) -> int:
    parser = command_parser(__doc__)
    parser.add_argument("name", nargs="?", metavar="NAME", help="method to describe (default: list all methods)")
    parser.add_argument("--markdown", action="store_true", help="print the table of docs/methods.md")
    parser.add_argument("--settings", action="store_true", help="print docs/settings.md, the settings of run.py")
    given = parser.parse_args(argv)
    say_broken_plugins()
    if given.name and given.name not in algorithms:
        raise UserError(no_such("algorithm", given.name, algorithms))
    if given.name:
        print("\n".join(page(given.name)))
    elif given.markdown or given.settings:
        print(markdown() if given.markdown else settings_page())
    else:
        show_all(Console())
    return 0


if __name__ == "__main__":
    sys.exit(main())
