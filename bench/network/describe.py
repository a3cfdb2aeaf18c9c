"""A network in the terminal, in 80 columns: its certificate, its matrices and its lost messages."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import fill

import numpy as np

from bench.network.certificate import TOLERANCE, Matrices
from bench.network.faulty import OneWayNetwork
from bench.network.mixing import Mixing
from bench.network.sparse import Sparse

WIDTH = 80
WIDE, WHOLE = 11, 16
"""The largest numbers of nodes for which entries have four digits, and for which a matrix is shown."""
ROUNDS = (1, 2, 4, 8, 16)
"""Rounds of accelerated gossip whose norms are shown."""
FIRST = 3
"""The number of rounds that are shown of a random network."""
SEARCHED = 1000
"""Steps that are searched for a loss."""


def facts(mixing: Mixing) -> Iterator[str]:
    """Yield the lines of the certificate."""
    c = mixing.certificate
    unmeasured = "no communication" if mixing.kind == "alone" else "diameter not computed (too many nodes)"
    far = f"diameter {c.diameter}" if c.diameter is not None else "random" if mixing.drawn else unmeasured
    word = ("arc" if c.directed else "edge") + "s" * (c.edges != 1) + " per round on average" * mixing.drawn
    yield f"{mixing.name}: {c.nodes} nodes, {c.edges} {word}, {far}"
    if mixing.kind == "all_reduce":
        yield "exact average; cost of a ring all-reduce: 2(n−1)/n vectors per node"
    separate = mixing.at(0).mix is None
    has = {
        f"rows sum to one{' (pull)' * separate}": c.rows,
        f"columns sum to one{' (push)' * separate}": c.columns,
        "symmetric": c.symmetric,
        "balanced": c.balanced,
        "static": c.static,
        "strongly connected" if c.directed else "connected": c.strongly_connected,
    }
    yield _wrapped(f"certified: {', '.join(name for name, holds in has.items() if holds)}")
    if missing := [name for name, holds in has.items() if not holds]:
        yield _wrapped(f"not: {', '.join(missing)}")
    if c.biased:
        yield "the average is NOT preserved: methods are biased on this network"
    named = {"ρ": c.rho, "gap": c.gap, "λ₂": c.lambda_2, "λₙ": c.lambda_n}
    known = [f"{name} = {round(value, 6) + 0.0:.6f}" for name, value in named.items() if value is not None]
    if known:
        yield "   ".join(known)
    yield f"ρ is {c.rho_is}"
    norms = [f"{norm:.3g}" for r in ROUNDS if (norm := mixing.accelerated(r)) is not None]
    if c.rho and c.rho > TOLERANCE and norms:
        yield _wrapped(
            f"accelerated gossip: ‖FG_R − 11ᵀ/n‖ for R = {', '.join(map(str, ROUNDS))} rounds is {', '.join(norms)} "
            "(useful only if below ρ)"
        )
    yield f"hash {c.hash}"


def matrices(mixing: Mixing) -> Iterator[str]:
    """Yield the matrices of every round of a period, or of the first rounds of a random network."""
    rounds = FIRST if mixing.drawn else mixing.period or 1
    for r in range(rounds):
        yield from _round(mixing.at(r, r), "" if rounds == 1 else f"({r})")


def sample(mixing: Mixing, reliable: Mixing) -> tuple[int, list[tuple[int, int]]]:
    """Return the first step with a loss and its lost links: arcs, or edges once if both directions are lost."""
    for t in range(SEARCHED):
        whole = reliable.at(t, t).any
        pattern = whole.pattern
        if isinstance(mixing, OneWayNetwork):
            pattern = mixing.heard
            gone = pattern.off[~mixing.delivered(t)]
        else:
            gone = pattern.off[(whole.values != 0)[pattern.off] & (mixing.at(t, t).any.values == 0)[pattern.off]]
        arcs = zip(pattern.columns[gone].tolist(), pattern.rows[gone].tolist(), strict=True)
        both = mixing.directed or mixing.one_way
        if lost := sorted((j, i) for j, i in arcs if both or j < i):
            return t, lost
    return 0, []


def losses(mixing: Mixing, reliable: Mixing) -> Iterator[str]:
    """Yield the losses of one step, and its matrix."""
    t, lost = sample(mixing, reliable)
    if not lost:
        yield f"no loss in the first {SEARCHED} steps"
        return
    arrow = "→" if mixing.directed or mixing.one_way else "–"
    named = ", ".join(f"{i}{arrow}{j}" for i, j in lost[:12]) + ", …" * (len(lost) > 12)
    word = "message" if mixing.one_way else "link"
    yield _wrapped(f"step {t} loses {len(lost)} {word}{'s' * (len(lost) != 1)}: {named}")
    if mixing.one_way:
        yield "without notice: the next message on the same arc carries the lost sums too"
    else:
        yield from _round(mixing.at(t, t), f" of step {t}")


def _round(of: Matrices, suffix: str) -> Iterator[str]:
    """Yield the lines of the matrix W, or of the push and pull matrices if there is none."""
    if of.mix is not None:
        yield from _matrix(of.mix, f"W{suffix} =")
        return
    if of.push is not None:
        yield from _matrix(of.push, f"push{suffix}, columns sum to one =")
    if of.pull is not None:
        yield from _matrix(of.pull, f"pull{suffix}, rows sum to one =")


def _matrix(w: Sparse, title: str) -> Iterator[str]:
    n = w.pattern.nodes
    yield title
    if n > WHOLE:
        yield f"  {np.count_nonzero(w.values)} nonzero entries (matrices are shown for up to {WHOLE} nodes)"
    elif n > WIDE:
        yield from (" ".join(f"{x:.3f}"[int(x < 1) :][:4] if x else "   ·" for x in row) for row in w.dense())
    else:
        yield from ("  " + " ".join(f"{x:6.4f}" if x else "     ·" for x in row) for row in w.dense())
    yield ""


def _wrapped(line: str) -> str:
    return fill(line, WIDTH, subsequent_indent="  ")
