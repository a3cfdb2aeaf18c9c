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

import argparse
import re
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
from bench.base.registry import algorithms, no_such, say_broken_plugins
from bench.config.comments import described
from bench.config.names import CONF
from bench.config.reference import settings_page
from bench.method import Algorithm, Properties
from bench.terminal.command import command
from bench.terminal.console import Console
from bench.terminal.table import show_columns

KINDS = ("gossip", "compressed", "directed", "reference")
"""Kinds of methods, by the network that they need, in the order of the table."""
SPARED = ("cite", "assumes", "family", "requires", "kind", "gradients", "rounds")
"""Columns that a narrow terminal hides, in this order."""
WIDTH = 100


def kind(properties: Properties) -> str:
    if properties.exact_average:
        return "reference"
    if properties.mixes != "doubly":
        return "directed"
    return "compressed" if properties.compresses != "no" else "gossip"


def sends(properties: Properties) -> str:
    """Vectors, and numbers beside them, to each neighbor a step."""
    beside = f" and {properties.scalars_per_step:g} number{'s' * (properties.scalars_per_step != 1)}" * (
        properties.scalars_per_step > 0
    )
    return f"{properties.vectors_per_step:g}{beside}{', compressed' * (properties.compresses != 'no')}"


def requirements(properties: Properties) -> str:
    """Return what the method requires of the network and of the floating-point type."""
    words = [
        *(["the exact average"] if properties.exact_average else []),
        *([f"λₙ > {properties.lambda_min:.2g}"] if properties.lambda_min is not None else []),
        *([properties.mixes] if properties.mixes != "doubly" else []),
        *(["the same W every round"] if properties.static else []),
        *(["float64"] if properties.requires_float64 else []),
    ]
    return ", ".join(words)


def short(cite: str) -> str:
    """Up to the year."""
    found = re.match(r".*?\b(?:19|20)\d\d\b", cite)
    return found.group() if found else cite


def columns() -> dict[str, list[str]]:
    """A cell per method, in the order of their kinds and names."""
    found = [algorithms[name].declare_for({}) for name in algorithms]
    ordered = sorted(found, key=lambda properties: (KINDS.index(kind(properties)), properties.name))
    cells = {
        "method": lambda p: p.name,
        "kind": kind,
        "family": lambda p: p.family,
        "sends": sends,
        "rounds": lambda p: f"{p.rounds:g}",
        "gradients": lambda p: f"{p.gradients}",
        "needs to know": lambda p: ", ".join(p.needs) or "–",
        "assumes": lambda p: ", ".join(p.assumes),
        "requires": requirements,
        "cite": lambda p: short(p.cite),
    }
    return {name: [cell(properties) for properties in ordered] for name, cell in cells.items()}


def show_all(console: Console) -> None:
    """The table, as much of it as there is room for."""
    show_columns(console, columns(), SPARED)
    console.print(
        "python bench/methods.py NAME describes one method. All may use n and T.",
        soft_wrap=True,
    )


def markdown() -> str:
    found = columns()
    rows = ["| " + " | ".join(found) + " |", "|" + "---|" * len(found)]
    for method, *rest in zip(*found.values(), strict=True):
        rows.append(f"| [`{method}`](../algorithms/{method}.py) | " + " | ".join(rest) + " |")
    return "\n".join(rows)


def page(name: str) -> Iterator[str]:
    """Everything about one method."""
    cls = algorithms[name]
    properties = cls.declare_for({})
    yield f"{properties.label} ({name})" + (f", family {properties.family}" if properties.family != name else "")
    yield ""
    yield textwrap.indent(textwrap.dedent("    " + (cls.__doc__ or "").strip()), "  ")
    yield ""
    yield from wrapped("G(X)", "mini-batch gradients of all nodes at X; W: one round of gossip; unit(z) = z/‖z‖")
    yield from wrapped("stepsizes", " ".join((cls.stepsizes.__doc__ or "").partition("Args:")[0].split()))
    yield from wrapped("paper", properties.cite)
    if properties.source:
        yield from wrapped("rule read in", properties.source)
    start = [f"{properties.start_samples} sample" * (properties.start_samples > 0)]
    start += [f"{properties.start_rounds} round" * (properties.start_rounds > 0)]
    yield from wrapped(
        "a step",
        f"sends {_vectors(properties)} to each neighbor in {properties.rounds:g} round"
        f"{'s' * (properties.rounds != 1)}, evaluates {properties.gradients} "
        f"gradient{'s' * (properties.gradients != 1)} on "
        f"{properties.samples} sample{'s' * (properties.samples != 1)} per node"
        + (f"; the start uses {' and '.join(filter(None, start))}" if any(start) else ""),
    )
    yield from wrapped("needs to know", ", ".join(properties.needs) or "only n (nodes) and T (steps)")
    yield from wrapped("assumes", ", ".join(properties.assumes) or "nothing beyond smoothness and bounded variance")
    if requirements(properties):
        yield from wrapped("requires", requirements(properties))
    yield from wrapped(
        "properties", ", ".join(checked_properties(properties)) or "none beyond the checks of every method"
    )
    yield ""
    yield "options, with their defaults:"
    said = comments(name)
    for option, value in {**cls.stepsize_options(), **cls.structure_options()}.items():
        yield from wrapped(f"algo.{option}={_plain(value.default)}", said.get(option, ""), 30)
    yield ""
    yield "example:"
    yield f"  {example(cls)}"
    if "eta" in cls.stepsize_options():
        yield "  For a fair comparison, tune the stepsize: add -m algo.eta=0.001,0.01,0.1"


def _vectors(properties: Properties) -> str:
    number, *beside = sends(properties).partition(" and ")
    number, *packed = number.partition(",")
    plural = "s" * (properties.vectors_per_step != 1)
    return f"{number} vector{plural}{''.join(packed)}{',' * bool(packed[-1])}{''.join(beside)}"


def checked_properties(properties: Properties) -> list[str]:
    """Return the declared properties that ``bench/contract.py`` checks."""
    return [
        *(f"mean {tracker} = mean {tracked}" for tracker, tracked in properties.tracks.items()),
        *(f"{name} sums to zero" for name in properties.zero_sum),
        *(["steps of at most η_t"] if properties.bounded_step else []),
        *(["invariant to scaling f"] if properties.scale_free else []),
        *(
            ["equal to the centralized method on the complete graph"]
            if properties.centralized_equivalent is True
            else []
        ),
        *(["equal to SGD on the complete graph"] if properties.centralized_equivalent == "sgd" else []),
        *(["converges to the minimizer with exact gradients"] if properties.fixed_point == "exact" else []),
        *([f"its {properties.report} evaluated instead of x"] if properties.report else []),
    ]


def comments(name: str) -> dict[str, str]:
    """What its yaml says of each option."""
    file = CONF / "algo" / f"{name}.yaml"
    return {key: each.comment for key, each in described(file).items()} if file.is_file() else {}


def example(cls: type[Algorithm]) -> str:
    """A command that runs it."""
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
    return f"python bench/run.py {' '.join(words)}"


def wrapped(name: str, text: str, indent: int = 16) -> Iterator[str]:
    """A name and what is said of it, at most WIDTH wide."""
    width = min(WIDTH, shutil.get_terminal_size().columns) if sys.stdout.isatty() else WIDTH
    lines = textwrap.wrap(text, max(20, width - indent), break_on_hyphens=False) or [""]
    first = f"  {name:<{indent - 2}}"
    if len(name) > indent - 3:
        yield first.rstrip()
        first = " " * indent
    yield (first + lines[0]).rstrip()
    yield from (" " * indent + line for line in lines[1:])


def _plain(value: object) -> str:
    """As it is typed."""
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


@command
def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
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
