"""Networks with failed links: their matrices, communication costs and certificates."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from bench.base.errors import UserError
from bench.network.cache import compute_once
from bench.network.certificate import Certificate, Matrices
from bench.network.failures import Coins, NodeOutages, Semantics, pair_numbers, squared_laplacian, without
from bench.network.mixing import Demands, Mixing
from bench.network.sparse import Messages, Pattern, Sparse
from bench.network.spectrum import digest, ends

if TYPE_CHECKING:
    import scipy.sparse as sp


class Faulty(Mixing):
    """Base class of networks with failed links. Define ``_lost`` and ``_square``; the rest is inherited.

    Args of the constructor: ``under``, the network without loss, and ``semantics``, what replaces a lost message.
    """

    changing = True

    def __init__(self, under: Mixing, semantics: Semantics) -> None:
        if under.kind != "gossip":
            raise UserError(f"topology={under.name} is a reference without links. Use links=reliable.")
        if under.certificate.biased:
            raise UserError("topology.allow_biased=true cannot be combined with lossy links. Use links=reliable.")
        self.name, self.nodes, self.kind, self.drawn = under.name, under.nodes, under.kind, under.drawn
        self._under, self._semantics = under, semantics
        self._last: tuple[tuple[int, int], Matrices] | None = None
        self.bills_alike, self.anybody, self.period, self.turns = under.bills_alike, under.anybody, None, under.turns
        self.certificate = self._certify(under.certificate)

    @property
    def matrices(self) -> np.ndarray:
        """The matrices without loss."""
        return self._under.matrices

    @property
    def heard(self) -> Pattern:
        return self._under.heard

    @property
    def edges(self) -> list[tuple[int, int]]:
        return self._under.edges

    def bill(self, r: int, t: int = 0) -> tuple[int, int]:
        """Return the cost of a round. Lost messages are charged."""
        return self._under.bill(r, t)

    def at(self, r: int, t: int = 0) -> Matrices:
        last = self._last
        if last is None or last[0] != (r, t):
            self._last = last = (r, t), self._reweighted(r, t)
        return last[1]

    def messages(self, r: int, t: int = 0) -> Messages:
        w = self._under.at(r, t).any
        sent = Messages.of(w)
        lost = np.zeros(len(w.values), dtype=bool)
        lost[w.pattern.off] = self._lost(t, w.pattern)
        return sent._replace(lost=lost[(w.values != 0) | (w.pattern.rows == w.pattern.columns)])

    def _reweighted(self, r: int, t: int) -> Matrices:
        whole = self._under.at(r, t)
        lost = self._lost(t, whole.any.pattern)
        if whole.mix is not None:  # must_serve requires that it is symmetric
            return Matrices(*[without(whole.mix, lost, self._semantics, "mix")] * 3)
        push, pull = (
            None if w is None else without(w, lost, self._semantics, side)
            for w, side in ((whole.push, "push"), (whole.pull, "pull"))
        )
        return Matrices(None, push, pull)

    def must_serve(self, method: Demands) -> None:
        super().must_serve(method)
        if self._semantics == "renormalise" and "push" in method.mixes:
            raise UserError(
                f"links.semantics=renormalise does not apply to push methods such as {method.name}. Use "
                "links.semantics=reabsorb (or zero_fill, which loses mass)."
            )
        if method.mixes == "doubly" and not self._under.certificate.symmetric:
            raise UserError(
                f"Lossy links preserve the average of {method.name} only if the weights are symmetric; those of "
                f"'{self.name}' are not. Use an undirected topology, a push method (algo=sgp), or links=reliable."
            )

    def _must_lie_above(self, lambda_min: float, method: str) -> None:
        self._under._must_lie_above(lambda_min, method)  # moving weights to the diagonal never decreases λ_n

    def _lost(self, t: int, pattern: Pattern) -> np.ndarray:
        """Return for every entry in ``pattern.off`` whether its message is lost in step t, ``(len(pattern.off),)``."""
        raise NotImplementedError

    def _square(self) -> sp.csr_array:
        """Return E[W²], (n, n), for a symmetric, static W (``self._w``). The certificate derives ρ from it."""
        raise NotImplementedError

    @property
    def _w(self) -> sp.csr_array:
        return self._under.at(0).any.scipy()

    @property
    def _identity(self) -> sp.csr_array:
        import scipy.sparse as sp  # slow to import

        return sp.csr_array(sp.eye_array(self.nodes))

    def _certify(self, c: Certificate) -> Certificate:
        rho, meaning = None, "not known"
        kept = self._semantics == "reabsorb"
        if kept and c.symmetric and c.static:
            square = Sparse.of_scipy(self._square())
            second = compute_once("second eigenvalue", self.nodes, digest([square]), lambda: ends(square)[0])
            rho = max(0.0, second) ** 0.5
            meaning = "√‖E[W²] − 11ᵀ/n‖₂, exactly"
        return replace(
            c,
            period=None,
            lambda_2=None,
            lambda_n=c.lambda_n if kept else None,
            rho=rho,
            gap=None if rho is None else 1 - rho,
            rho_is=meaning,
            biased=not kept,
            rows=c.rows and self._semantics != "zero_fill",
            columns=c.columns and kept,
            symmetric=c.symmetric and kept,
            static=False,
        )


class LossyNetwork(Faulty):
    """A network whose links fail independently of each other with probability ``p``, by ``coins``."""

    def __init__(self, under: Mixing, coins: Coins, semantics: Semantics, p: float) -> None:
        self._coins, self._p = coins, p
        self._numbers: dict[int, tuple[Pattern, np.ndarray]] = {}  # with the pattern, so that its id stays unique
        super().__init__(under, semantics)

    def _lost(self, t: int, pattern: Pattern) -> np.ndarray:
        if self._under.changing:  # any pair of nodes may be a link
            return self._coins.lost(t, self.nodes * (self.nodes - 1) // 2)[pair_numbers(pattern)]
        if id(pattern) not in self._numbers:
            self._numbers[id(pattern)] = pattern, np.searchsorted(self._links, pair_numbers(pattern))
        return self._coins.lost(t, len(self._links))[self._numbers[id(pattern)][1]]

    @cached_property
    def _links(self) -> np.ndarray:
        return np.unique(pair_numbers(self.heard))

    def _square(self) -> sp.csr_array:
        """W = I − Σ b_e w_e L_e with coins b_e of mean q: E[W²] = (I − qL)² + 2q(1 − q) Σ w_e² L_e, with L = I − W."""
        q = 1 - self._p
        once = (1 - q) * self._identity + q * self._w
        return once @ once + 2 * q * (1 - q) * squared_laplacian(self._w)


class SilentNetwork(Faulty):
    """A network whose nodes fail, with all their links."""

    def __init__(self, under: Mixing, silence: NodeOutages, semantics: Semantics) -> None:
        self._silence = silence
        super().__init__(under, semantics)
        self.bills_alike = False

    def _lost(self, t: int, pattern: Pattern) -> np.ndarray:
        silent = self._silence.silent(t)
        return silent[pattern.rows[pattern.off]] | silent[pattern.columns[pattern.off]]

    def bill(self, r: int, t: int = 0) -> tuple[int, int]:
        """Return the cost of a round: a failed node sends nothing, and messages to it are charged but lost."""
        w = self._under.at(r, t).any
        speaks = ~self._silence.silent(t)[w.pattern.columns[w.pattern.off]]
        return (int(np.count_nonzero(w.values[w.pattern.off][speaks])),) * 2

    def _square(self) -> sp.csr_array:
        """E[W²] = I − 2a²L + a³L² + 2(a² − a³) Σ w_e² L_e, if a node is up with probability a.

        Two links that share a node are both up with probability a³; for others L_e L_e' = 0.
        """
        a = self._silence.up
        laplacian = self._identity - self._w
        once = self._identity - 2 * a**2 * laplacian + a**3 * laplacian @ laplacian
        return once + 2 * (a**2 - a**3) * squared_laplacian(self._w)


class OneWayNetwork(Faulty):
    """A network that loses messages without notice. The next message on an arc carries the lost sums too."""

    one_way = True

    def __init__(self, under: Mixing, coins: Coins) -> None:
        self._coins = coins
        super().__init__(under, "reabsorb")

    def at(self, r: int, t: int = 0) -> Matrices:
        """Return the matrices without loss; the channel stores lost mass."""
        return self._under.at(r, t)

    def delivered(self, t: int) -> np.ndarray:
        """Return for every arc of ``heard``, in order, whether the message of step t arrives."""
        return ~self._lost(t, self.heard)

    def _lost(self, t: int, pattern: Pattern) -> np.ndarray:
        return self._coins.lost(t, len(pattern.off))

    def _certify(self, c: Certificate) -> Certificate:
        unknown = "not known: messages arrive late"
        return replace(c, period=None, lambda_2=None, lambda_n=None, rho=None, gap=None, rho_is=unknown, static=False)

    def must_serve(self, method: Demands) -> None:
        if method.mixes != "push":
            raise UserError(
                f"links=one_way requires a push method, which keeps running sums; {method.name} is not one. Use "
                "links=lossy, where both ends notice a loss."
            )
        self._under.must_serve(method)
