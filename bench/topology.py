"""Show a communication graph: its size, spectral properties and mixing matrix.

With lossy links, also shows how they change the matrix and the average. A graph
that is drawn each round is shown for its first rounds.

Examples:
  python bench/topology.py topology=ladder nodes=8
  python bench/topology.py topology=ring links=lossy links.p=0.3
  python bench/topology.py topology=matching seed=3
  python bench/topology.py topology=ring nodes=4096 --edges ring.txt
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    from bench.terminal.command import begin

    begin()

from bench.base.registry import say_broken_plugins, topologies
from bench.build.network import mixing_of
from bench.config.choices import Choice, options_of
from bench.config.compose import compose_one
from bench.config.run_config import RunConfig
from bench.config.source import source_of
from bench.network.describe import facts, losses, matrices, sample
from bench.network.drawing import caption, svg
from bench.network.mixing import Mixing, Operator
from bench.store.record import LATER
from bench.terminal.command import command
from bench.terminal.parser import command_parser
from bench.training.mixers import ROUNDS, change_of_average

SIZES = (8, 16, 64)
"""Numbers of nodes in the table of all topologies."""
SEEDS = 10
"""Seeds over which the change of the average is measured."""


def show(config: RunConfig) -> Iterator[str]:
    """Yield the lines that describe one network."""
    network, reliable = mixing_of(config), without_loss(config)
    yield from facts(network)
    if lossy := network is not reliable:
        yield f"without loss, ρ = {reliable.certificate.rho:.6f}"
    yield ""
    yield from matrices(reliable)
    if lossy:
        yield from losses(network, reliable)
        yield from averages(config)


def without_loss(config: RunConfig) -> Mixing:
    return mixing_of(replace(config, links=Choice(LATER["links"], {})))


def averages(config: RunConfig) -> Iterator[str]:
    """Yield how far lossy links move the average, for each loss-handling rule."""
    network, links = mixing_of(config), config.links
    by: Operator = "push" if network.one_way or network.at(0).mix is None else "mix"
    negative = ("zero_fill",) if by == "push" else ("renormalise", "zero_fill")
    if network.one_way:
        forms = {"running sums": links, "zero_fill": Choice("lossy", {**links.options, "semantics": "zero_fill"})}
    else:
        known = ("reabsorb", *negative) if "semantics" in links.options else ()
        forms = {name: Choice(links.name, {**links.options, "semantics": name}) for name in known}
    if forms:
        average = "push-sum" if by == "push" else "the average"
        yield f"{ROUNDS} rounds from numbers with mean 1 and standard deviation 1 move {average}"
        yield f"by (root mean square over seeds {config.seed} … {config.seed + SEEDS - 1})"
    for name, choice in forms.items():
        networks = [mixing_of(replace(config, links=choice, seed=config.seed + k)) for k in range(SEEDS)]
        yield f"  {name:12} {change_of_average(networks, by):.1e}"


def picture(config: RunConfig) -> str:
    """Return the drawing as SVG; with packet loss, of a step in which messages are lost."""
    network, reliable = mixing_of(config), without_loss(config)
    return svg(reliable, lost=sample(network, reliable)[1] if network is not reliable and not network.drawn else ())


def table(folder: Path) -> str:
    """Return a Markdown table with one row per topology, and write the drawings to ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    head = " | ".join(f"ρ, n = {n}" for n in SIZES)
    lines = [f"| | `topology` | weights | edges, n = 8 | {head} |", "|---|---|---|---|" + "---|" * len(SIZES)]
    for name in topologies:
        if topologies[name].weights is None or "file" in options_of("topology", name):
            continue
        mixings = [mixing_of(compose_one([f"topology={name}", f"nodes={n}"])) for n in SIZES]
        (folder / f"{name}.svg").write_text(svg(mixings[0]), encoding="utf-8")
        rho = " | ".join(f"{max(0.0, mixing.certificate.rho or 0.0):.3f}" for mixing in mixings)
        first = mixings[0].certificate
        edges = f"{first.edges}{' arcs' * first.directed}{' a round' * mixings[0].drawn}"
        image = f"![{caption(mixings[0])}]({folder.as_posix()}/{name}.svg)"
        lines.append(f"| {image} | `{name}` | `{topologies[name].weights}` | {edges} | {rho} |")
    return "\n".join(lines)


@command
def main() -> int:
    parser = command_parser(__doc__, config=True)
    parser.add_argument(
        "overrides",
        nargs="*",
        metavar="SETTING=VALUE",
        help="settings as for run.py, above all topology=NAME, topology.OPTION=VALUE and nodes=N (default: "
        "topology=ring nodes=8)",
    )
    parser.add_argument("--svg", type=Path, metavar="FILE", help="also write a drawing of the graph to this SVG file")
    parser.add_argument(
        "--edges",
        type=Path,
        metavar="FILE",
        help="also write the edges to this file, two node numbers per line, for topology=edges topology.file=FILE",
    )
    parser.add_argument(
        "--table",
        type=Path,
        metavar="FOLDER",
        help="only print a Markdown table of all topologies, and write their drawings to this folder",
    )
    arguments = parser.parse_intermixed_args()
    say_broken_plugins()
    if arguments.table:
        print(table(arguments.table))
        return 0
    config = compose_one(arguments.overrides, source_of(arguments))
    if arguments.svg:
        arguments.svg.write_text(picture(config), encoding="utf-8")
    if arguments.edges:
        arguments.edges.write_text("".join(f"{i} {j}\n" for i, j in mixing_of(config).edges), encoding="utf-8")
    for line in show(config):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
