"""A network for the terminal: what is known of it, and its matrices, in 80 columns."""

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
"""Nodes up to which entries have four digits, and up to which a matrix is shown."""
ROUNDS = (1, 2, 4, 8, 16)
"""Of accelerated gossip, whose norms are told."""
FIRST = 3
"""Rounds that are shown of a network that is drawn."""
PATIENCE = 1000
"""Steps in which a loss is looked for."""


def facts(mixing: Mixing) -> Iterator[str]:
    """The certificate, line by line."""
    c = mixing.certificate
    unmeasured = (
        "drawn each round"
        if mixing.drawn
        else "nobody talks"
        if mixing.kind == "alone"
        else "too many to measure the diameter"
    )
    far = f"diameter {c.diameter}" if c.diameter is not None else unmeasured
    word = ("arc" if c.directed else "edge") + "s" * (c.edges != 1) + " a round on average" * mixing.drawn
    yield f"{mixing.name}: {c.nodes} nodes, {c.edges} {word}, {far}"
    if mixing.kind == "all_reduce":
        yield "the exact average, billed as a ring all-reduce: 2(n−1)/n vectors a node, whatever the edges"
    apart = mixing.at(0).mix is None
    has = {
        f"rows sum to one{' (pull)' * apart}": c.rows,
        f"columns sum to one{' (push)' * apart}": c.columns,
        "symmetric": c.symmetric,
        "balanced": c.balanced,
        "static": c.static,
        "strongly connected" if c.directed else "connected": c.strongly_connected,
    }
    yield _wrapped(f"certified: {', '.join(name for name, holds in has.items() if holds)}")
    if missing := [name for name, holds in has.items() if not holds]:
        yield _wrapped(f"not: {', '.join(missing)}{', as asked for' * (mixing.kind == 'alone')}")
    if c.biased:
        yield "the average is NOT kept: methods are biased on it"
    named = {"ρ": c.rho, "gap": c.gap, "λ₂": c.lambda_2, "λₙ": c.lambda_n}
    known = [f"{name} = {round(value, 6) + 0.0:.6f}" for name, value in named.items() if value is not None]
    if known:
        yield "   ".join(known)
    yield f"ρ is {c.rho_is}"
    kept = [mixing.accelerated(r) for r in ROUNDS]
    if c.rho and c.rho > TOLERANCE and None not in kept:
        norms = ", ".join(f"{norm:.3g}" for norm in kept)
        yield _wrapped(
            f"‖FG_R − 11ᵀ/n‖ of {', '.join(map(str, ROUNDS))} rounds of accelerated gossip: {norms}; it helps "
            "below ρ only"
        )
    yield f"hash {c.hash}"


def matrices(mixing: Mixing) -> Iterator[str]:
    """Those of every round of a period, or of the first of a network that never repeats."""
    rounds = FIRST if mixing.drawn else mixing.period or 1
    for r in range(rounds):
        yield from _round(mixing.at(r, r), "" if rounds == 1 else f"({r})")


def sample(mixing: Mixing, reliable: Mixing) -> tuple[int, list[tuple[int, int]]]:
    """The first step in which something is lost, and what: arcs, or both ends of an edge once."""
    for t in range(PATIENCE):
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
    """What the links do: a step in which something is lost, and what the matrix then is."""
    t, lost = sample(mixing, reliable)
    if not lost:
        yield f"nothing is lost in the first {PATIENCE} steps"
        return
    arrow = "→" if mixing.directed or mixing.one_way else "–"
    named = ", ".join(f"{i}{arrow}{j}" for i, j in lost[:12]) + ", …" * (len(lost) > 12)
    word = "message" if mixing.one_way else "link"
    yield _wrapped(f"step {t} loses {len(lost)} {word}{'s' * (len(lost) != 1)}: {named}")
    if mixing.one_way:
        yield "nobody knows: what is lost arrives with the next message of its arc"
    else:
        yield from _round(mixing.at(t, t), f" of step {t}")


def _round(of: Matrices, suffix: str) -> Iterator[str]:
    """What is mixed by; where a network has none, what is pushed and pulled by."""
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
        yield f"  {np.count_nonzero(w.values)} entries that are not 0; the matrix is shown up to {WHOLE} nodes"
    elif n > WIDE:
        yield from (" ".join(f"{x:.3f}"[int(x < 1) :][:4] if x else "   ·" for x in row) for row in w.dense())
    else:
        yield from ("  " + " ".join(f"{x:6.4f}" if x else "     ·" for x in row) for row in w.dense())
    yield ""


def _wrapped(line: str) -> str:
    return fill(line, WIDTH, subsequent_indent="  ")
