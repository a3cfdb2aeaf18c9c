"""Which methods there are, what they cost and what they must know.

python bench/methods.py                    a table of all, from their own declarations
python bench/methods.py gt_nsgdm           one of them: its rule, cost, needs, options and a command
python bench/methods.py --markdown         the table for a page
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
from bench.config.names import CONF
from bench.method import Algorithm, Declaration
from bench.terminal.command import command
from bench.terminal.console import Console
from bench.terminal.table import show_columns

KINDS = ("gossip", "compressed", "directed", "reference")
"""What methods ask of the network, in the order of the table; references ask for the exact average."""
SPARED = ("cite", "assumes", "family", "asks for", "kind", "gradients", "rounds")
"""What a narrow terminal can do without, in this order."""
WIDTH = 100


def kind(promise: Declaration) -> str:
    if promise.exact_average:
        return "reference"
    if promise.mixes != "doubly":
        return "directed"
    return "compressed" if promise.compresses != "no" else "gossip"


def sends(promise: Declaration) -> str:
    """Vectors, and numbers beside them, to each neighbour a step."""
    beside = f" and {promise.scalars:g} number{'s' * (promise.scalars != 1)}" * (promise.scalars > 0)
    return f"{promise.sends:g}{beside}{', compressed' * (promise.compresses != 'no')}"


def asks_for(promise: Declaration) -> str:
    """Of the network and the machine."""
    words = [
        *(["the exact average"] if promise.exact_average else []),
        *([f"λₙ > {promise.lambda_min:.2g}"] if promise.lambda_min is not None else []),
        *([promise.mixes] if promise.mixes != "doubly" else []),
        *(["the same W every round"] if promise.static else []),
        *(["float64"] if promise.double else []),
    ]
    return ", ".join(words)


def short(cite: str) -> str:
    """Up to the year."""
    found = re.match(r".*?\b(?:19|20)\d\d\b", cite)
    return found.group() if found else cite


def columns() -> dict[str, list[str]]:
    """A cell per method, in the order of their kinds and names."""
    found = [algorithms[name].declare_for({}) for name in algorithms]
    promises = sorted(found, key=lambda promise: (KINDS.index(kind(promise)), promise.name))
    cells = {
        "method": lambda p: p.name,
        "kind": kind,
        "family": lambda p: p.family,
        "sends": sends,
        "rounds": lambda p: f"{p.rounds:g}",
        "gradients": lambda p: f"{p.gradients}",
        "needs to know": lambda p: ", ".join(p.needs) or "–",
        "assumes": lambda p: ", ".join(p.assumes),
        "asks for": asks_for,
        "cite": lambda p: short(p.cite),
    }
    return {name: [cell(promise) for promise in promises] for name, cell in cells.items()}


def show_all(console: Console) -> None:
    """The table, as much of it as there is room for."""
    show_columns(console, columns(), SPARED)
    console.print("python bench/methods.py NAME says more of one. n and T are free to know.", soft_wrap=True)


def markdown() -> str:
    found = columns()
    rows = ["| " + " | ".join(found) + " |", "|" + "---|" * len(found)]
    for method, *rest in zip(*found.values(), strict=True):
        rows.append(f"| [`{method}`](algorithms/{method}.py) | " + " | ".join(rest) + " |")
    return "\n".join(rows)


def page(name: str) -> Iterator[str]:
    """Everything about one method."""
    cls = algorithms[name]
    promise = cls.declare_for({})
    yield f"{promise.label} ({name})" + (f", of the family of {promise.family}" if promise.family != name else "")
    yield ""
    yield textwrap.indent(textwrap.dedent("    " + (cls.__doc__ or "").strip()), "  ")
    yield ""
    yield from wrapped("G(X)", "mini-batch gradients of all nodes at X; W: one round of gossip; unit(z) = z/‖z‖")
    yield from wrapped("stepsizes", " ".join((cls.stepsizes.__doc__ or "").split()))
    yield from wrapped("from", promise.cite)
    if promise.source:
        yield from wrapped("rule read in", promise.source)
    start = [f"{promise.start_samples} sample" * (promise.start_samples > 0)]
    start += [f"{promise.start_rounds} round" * (promise.start_rounds > 0)]
    yield from wrapped(
        "a step",
        f"sends {_vectors(promise)} to each neighbour in {promise.rounds:g} round"
        f"{'s' * (promise.rounds != 1)}, evaluates {promise.gradients} gradient{'s' * (promise.gradients != 1)} on "
        f"{promise.samples} sample{'s' * (promise.samples != 1)} a node"
        + (f"; the start takes {' and '.join(filter(None, start))}" if any(start) else ""),
    )
    yield from wrapped("needs to know", ", ".join(promise.needs) or "nothing but n and T")
    yield from wrapped("assumes", ", ".join(promise.assumes) or "nothing beyond smoothness and bounded variance")
    if asks_for(promise):
        yield from wrapped("asks for", asks_for(promise))
    yield from wrapped("has", ", ".join(properties(promise)) or "no property that is checked beyond the contract")
    yield ""
    yield "options, with their defaults"
    said = comments(name)
    for option, value in {**cls.stepsize_options(), **cls.structure_options()}.items():
        yield from wrapped(f"algo.{option}={_plain(value.default)}", said.get(option, ""), 30)
    yield ""
    yield "try"
    yield f"  {example(cls)}"
    if "eta" in cls.stepsize_options():
        yield "  A comparison needs its stepsize tuned: add -m and algo.eta=0.001,0.01,0.1 or more."


def _vectors(promise: Declaration) -> str:
    number, *beside = sends(promise).partition(" and ")
    number, *packed = number.partition(",")
    return f"{number} vector{'s' * (promise.sends != 1)}{''.join(packed)}{',' * bool(packed[-1])}{''.join(beside)}"


def properties(promise: Declaration) -> list[str]:
    """What the contract holds it to."""
    return [
        *(f"mean {tracker} = mean {tracked}" for tracker, tracked in promise.tracks.items()),
        *(f"{name} sums to zero" for name in promise.zero_sum),
        *(["steps of at most η_t"] if promise.bounded else []),
        *(["no change under c·f"] if promise.scale_free else []),
        *(["on the complete graph, what one node that knows f does"] if promise.pooled is True else []),
        *(["on the complete graph, what SGD does"] if promise.pooled == "sgd" else []),
        *(["an end at the minimiser where gradients are exact"] if promise.fixed_point == "exact" else []),
        *([f"its {promise.report} measured in the place of x"] if promise.report else []),
    ]


def comments(name: str) -> dict[str, str]:
    """What its yaml says of each option."""
    file = CONF / "algo" / f"{name}.yaml"
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    found = (re.match(r"(\w+):[^#]*#\s*(.*)", line) for line in lines)
    return {match.group(1): match.group(2) for match in found if match}


def example(cls: type[Algorithm]) -> str:
    """A command that runs it."""
    promise = cls.declare_for({})
    words = [f"algo={promise.name}", "dataset=digits"]
    if promise.exact_average:
        words.append("topology=all_reduce")
    elif promise.mixes != "doubly":
        words.append("topology=random_digraph")
    elif promise.lambda_min is not None:
        words.append("topology.lazy=true")
    if promise.double:
        words.append("dtype=float64")
    if promise.compresses != "no":
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
    parser.add_argument("name", nargs="?", help="a method; none: the table of all")
    parser.add_argument("--markdown", action="store_true", help="the table as Markdown")
    given = parser.parse_args(argv)
    say_broken_plugins()
    if given.name and given.name not in algorithms:
        raise UserError(no_such("algorithm", given.name, algorithms))
    if given.name:
        print("\n".join(page(given.name)))
    elif given.markdown:
        print(markdown())
    else:
        show_all(Console())
    return 0


if __name__ == "__main__":
    sys.exit(main())
