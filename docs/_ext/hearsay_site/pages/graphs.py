"""The pages of graphs: a drawing, and the certificates for three numbers of nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from bench.base.registry import topologies
from bench.build.network import mixing_of
from bench.config.choices import Choice, options_of
from bench.config.compose import compose_one
from bench.config.run_config import RunConfig
from bench.network.drawing import svg
from bench.network.mixing import Mixing
from bench.topology import SIZES
from hearsay_site.text import ORPHAN, catalog, html, options, purpose, table


def pages() -> Iterator[tuple[str, str]]:
    """Yield the table of all graphs, and the page of each."""
    usual = compose_one([])
    rows = []
    for name in topologies:
        mixings = [] if own(name) else [mixing(usual, name, nodes) for nodes in SIZES]
        rho = [f"{max(0.0, each.certificate.rho or 0.0):.3f}" for each in mixings] or ["–"] * len(SIZES)
        edges = mixings[0].certificate.edges if mixings else "–"
        rows.append((f"[{name}](graphs/{name}.md)", purpose("topology", name), edges, *rho))
        yield f"catalog/graphs/{name}.md", "\n\n".join(page(name, mixings)) + "\n"
    head = ("graph", "meaning", "edges, n = 8", *(f"ρ, n = {n}" for n in SIZES))
    words = (
        "ρ is the contraction of one round of gossip: smaller is better. [Networks](../docs/networks.md) defines it. "
        "[Topologies](../docs/topologies.md) explains weights and your own graphs."
    )
    yield "catalog/graphs.md", f"# All graphs\n\n{words}\n\n{catalog(head, rows)}\n"


def own(name: str) -> bool:
    """Return whether the user gives the graph as a file."""
    return "file" in options_of("topology", name)


def mixing(usual: RunConfig, name: str, nodes: int) -> Mixing:
    defaults = {key: option.default for key, option in options_of("topology", name).items()}
    return mixing_of(replace(usual, topology=Choice(name, defaults), nodes=nodes))


def page(name: str, mixings: list[Mixing]) -> Iterator[str]:
    yield f"{ORPHAN}# {name}"
    yield f"[All graphs](../graphs.md) · `topology={name}`"
    yield f"{purpose('topology', name).capitalize()}."
    if not mixings:
        yield "You give this graph as a file: see [Your own graph](../../docs/topologies.md#your-own-graph-or-matrix)."
        yield from options("topology", name)
        return
    drawn = "".join(f"<figure>{svg(each, 180)}<figcaption>{each.nodes} nodes</figcaption></figure>" for each in mixings)
    yield html(f'<div class="graphs">{drawn}</div>')
    if mixings[0].drawn:
        yield "The graph is drawn anew in each round. The drawings show round 0."
    yield "## Certificate"
    rows = list(zip(*(certified(each).values() for each in mixings), strict=True))
    yield table(("n", *map(str, SIZES)), [(key, *row) for key, row in zip(certified(mixings[0]), rows, strict=True)])
    yield "[Networks](../../docs/networks.md#certificate) explains these properties."
    yield from options("topology", name)
    yield f"```bash\npython bench/topology.py topology={name} nodes=8\n```"


def certified(mixing: Mixing) -> dict[str, object]:
    """Return the rows of the certificate of one network."""
    c = mixing.certificate
    numbers = {"ρ": c.rho, "spectral gap": c.gap, "λ₂": c.lambda_2, "λₙ": c.lambda_n}
    holds = {
        "rows sum to one": c.rows,
        "columns sum to one": c.columns,
        "symmetric": c.symmetric,
        "static": c.static,
        "strongly connected": c.strongly_connected,
    }
    return {
        "arcs" if c.directed else "edges": c.edges,
        "diameter": "–" if c.diameter is None else c.diameter,
        **{key: "–" if value is None else f"{round(value, 6) + 0.0:.6f}" for key, value in numbers.items()},
        **{key: "yes" if value else "no" for key, value in holds.items()},
        "ρ is": c.rho_is,
        "hash": f"`{c.hash}`",
    }
