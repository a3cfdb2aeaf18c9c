"""Look at a graph before using it.

python bench/topology.py topology=ladder nodes=8          the certificate, the matrix and a drawing
python bench/topology.py topology=ring --svg ring.svg     the drawing as a file
python bench/topology.py --table docs/topologies          a Markdown table of all, with drawings
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    from bench.terminal.command import begin

    begin()

import numpy as np

from bench.base.registry import say_broken_plugins, topologies
from bench.config.choices import options_of
from bench.config.compose import compose_one
from bench.network.drawing import svg, text
from bench.network.mixing import Mixing
from bench.terminal.command import command

SIZES = (8, 16, 64)
"""The numbers of nodes in the table."""


def show(mixing: Mixing) -> str:
    """Everything about one graph, for the terminal."""
    c = mixing.certificate
    far = "nobody talks" if c.diameter is None else f"diameter {c.diameter}"
    lines = [f"{mixing.name}: {c.nodes} nodes, {c.edges} edges, {far}"]
    joined = "not connected, as asked for" if c.diameter is None else "connected"
    if mixing.kind == "all_reduce":
        lines.append("the exact average, billed as a ring all-reduce: 2(n−1)/n vectors a node, whatever the edges")
    certified = f"symmetric, doubly stochastic, non-negative, {joined}: certified"
    lines.append("NOT symmetric and doubly stochastic: methods are biased on it" if c.biased else certified)
    if c.biased:
        lines.append(f"second largest |eigenvalue| = {c.rho:.6f}   gap = {c.gap:.6f}")
    elif c.lambda_2 is None:
        lines.append(
            f"a sequence of {c.period} matrices; ρ of the product of a period = {c.rho:.6f}, gap = {c.gap:.6f}"
        )
    else:
        named = {"ρ": c.rho, "gap": c.gap, "λ₂": c.lambda_2, "λₙ": c.lambda_n}
        lines.append("   ".join(f"{name} = {round(value or 0.0, 6) + 0.0:.6f}" for name, value in named.items()))
    lines += [f"hash {c.hash}", ""]
    for number, w in enumerate(mixing.matrices):
        lines.append("W =" if c.period == 1 else f"W({number}) =")
        if mixing.nodes > 16:
            lines.append(f"  {np.count_nonzero(w)} entries that are not 0; the matrix is shown up to 16 nodes")
        else:
            lines += ["  " + " ".join(f"{entry:6.4f}" if entry else "     ·" for entry in row) for row in w]
        lines.append("")
    return "\n".join([*lines, text(mixing) if mixing.nodes <= 100 else "(drawn up to 100 nodes)"])


def table(folder: Path) -> str:
    """A row per topology; drawings go to ``folder``. ρ for n = 8, 16 and 64."""
    folder.mkdir(parents=True, exist_ok=True)
    head = " | ".join(f"ρ, n = {n}" for n in SIZES)
    lines = [f"| | `topology` | weights | edges, n = 8 | {head} |", "|---|---|---|---|" + "---|" * len(SIZES)]
    for name in topologies:
        if topologies[name].weights is None or "file" in options_of("topology", name):
            continue
        mixings = [compose_one([f"topology={name}", f"nodes={n}"]).mixing() for n in SIZES]
        (folder / f"{name}.svg").write_text(svg(mixings[0]), encoding="utf-8")
        rho = " | ".join(f"{max(0.0, mixing.certificate.rho or 0.0):.3f}" for mixing in mixings)
        drawing = f"![{name}]({folder.as_posix()}/{name}.svg)"
        lines.append(f"| {drawing} | `{name}` | `{topologies[name].weights}` | {len(mixings[0].edges)} | {rho} |")
    return "\n".join(lines)


@command
def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("overrides", nargs="*", help="as for run.py: topology=NAME nodes=N topology.OPTION=VALUE")
    parser.add_argument("--svg", type=Path, help="write the drawing to this file")
    parser.add_argument("--table", type=Path, metavar="FOLDER", help="print a table of all, drawings into FOLDER")
    arguments = parser.parse_intermixed_args()
    say_broken_plugins()
    if arguments.table:
        print(table(arguments.table))
        return 0
    mixing = compose_one(arguments.overrides).mixing()
    if arguments.svg:
        arguments.svg.write_text(svg(mixing), encoding="utf-8")
    print(show(mixing))
    return 0


if __name__ == "__main__":
    sys.exit(main())
