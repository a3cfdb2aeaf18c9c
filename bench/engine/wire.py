"""How rows travel between ranks: which of them a round needs, who is connected, and rounds that are all alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from mpi4py import MPI
from torch import Tensor

from bench.network.mixing import Mixing
from bench.network.sparse import Pattern, Sparse

dist_graph = MPI.Intracomm.Create_dist_graph_adjacent
SPARSE_FROM = 256
"""Nodes of a rank from which what they hear is summed edge by edge, where few of the others are neighbors: with fewer,
a product with all that is here is faster."""
KINDS = {torch.float64: MPI.DOUBLE, torch.float32: MPI.FLOAT, torch.uint8: MPI.BYTE}


def nodes_of_rank(nodes: int, ranks: int, rank: int) -> range:
    """The nodes of one rank: contiguous, sizes differing by at most one."""
    return range(nodes * rank // ranks, nodes * (rank + 1) // ranks)


def rank_of_nodes(nodes: int, ranks: int) -> np.ndarray:
    """For every node the rank that hosts it."""
    return np.repeat(np.arange(ranks), [len(nodes_of_rank(nodes, ranks, rank)) for rank in range(ranks)])


class Rows:
    """Which rows of the network a rank needs in a round, and which of its own the others need."""

    def __init__(self, pattern: Pattern, values: np.ndarray, ranks: int, rank: int) -> None:
        n = pattern.nodes
        owner = rank_of_nodes(n, ranks)
        mine = nodes_of_rank(n, ranks, rank)
        there = values != 0
        heard, by = pattern.columns[there], pattern.rows[there]
        hears = (owner[by] == rank) & (owner[heard] != rank)
        tells = (owner[heard] == rank) & (owner[by] != rank)
        wanted = np.unique(heard[hears])  # in the order of ranks, since each has nodes in a row
        given = np.unique(owner[by[tells]] * n + heard[tells])
        self.columns = np.concatenate([np.arange(mine.start, mine.stop), wanted])
        self.wanted = np.bincount(owner[wanted], minlength=ranks)  # rows from each rank
        self.given = np.bincount(given // n, minlength=ranks)  # and to each
        self.pack = given % n - mine.start  # our rows, as they are sent

    def local(self, w: Sparse, mine: range) -> Sparse:
        """The hosted rows of a matrix, by the places of their columns here; zeros are left out."""
        keep = (w.pattern.rows >= mine.start) & (w.pattern.rows < mine.stop) & (w.values != 0)
        place = np.zeros(w.pattern.nodes, dtype=np.int64)
        place[self.columns] = np.arange(len(self.columns))
        return Sparse(
            Pattern(len(mine), w.pattern.rows[keep] - mine.start, place[w.pattern.columns[keep]]), w.values[keep]
        )


class Wire:
    """Who may ever hear whom, connected once: sources and targets apart."""

    def __init__(self, comm: MPI.Intracomm, mixing: Mixing) -> None:
        if mixing.anybody:
            self._sources = self._targets = np.delete(np.arange(comm.size), comm.rank)
        else:
            rows = Rows(mixing.heard, np.ones(len(mixing.heard.rows)), comm.size, comm.rank)
            self._sources, self._targets = np.flatnonzero(rows.wanted), np.flatnonzero(rows.given)
        self.silent = not comm.allreduce(len(self._sources) + len(self._targets))  # nobody ever hears another rank
        self.graph = dist_graph(comm, self._sources.tolist(), self._targets.tolist())

    def counts(self, given: np.ndarray, wanted: np.ndarray, width: int) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
        """How much goes to every target and comes from every source, and where it lies, in entries."""
        out, into = given[self._targets] * width, wanted[self._sources] * width
        return (out, np.cumsum(out) - out), (into, np.cumsum(into) - into)

    def carry(self, send: Tensor, given: np.ndarray, wanted: np.ndarray) -> Tensor:
        """Rows to the targets, so many to each rank, and so many from the sources."""
        received = torch.empty(int(wanted.sum()), send.shape[-1], dtype=send.dtype, device=send.device)
        if not self.silent:
            out, into = self.counts(given, wanted, send.shape[-1])
            kind = KINDS[send.dtype]
            self.graph.Neighbor_alltoallv([send.contiguous().numpy(), out, kind], [received.numpy(), into, kind])
        return received

    def free(self) -> None:
        self.graph.Free()


class Block:
    """The rows of a matrix that a rank hosts: what its nodes make of all that they have heard."""

    def __init__(self, local: Sparse, columns: int, dtype: torch.dtype, device: torch.device) -> None:
        pattern, values = local.pattern, torch.as_tensor(local.values, dtype=dtype, device=device)
        hosted = pattern.nodes
        self.sparse = hosted >= SPARSE_FROM and len(local.values) < hosted * columns / 8
        if self.sparse:
            self._columns, self._starts = (
                torch.as_tensor(places, device=device) for places in (pattern.columns, pattern.starts)
            )
            self._values = values
        else:
            w = np.zeros((hosted, columns))
            w[pattern.rows, pattern.columns] = local.values
            self._dense = torch.as_tensor(w, dtype=dtype, device=device)

    def __call__(self, heard: Tensor) -> Tensor:
        """From the rows that are here, (columns, width), to those of the hosted nodes; (1, columns, width) likewise."""
        if not self.sparse:
            return torch.matmul(self._dense, heard)
        rows = heard.reshape(heard.shape[-2:])
        bags = F.embedding_bag(self._columns, rows, self._starts, mode="sum", per_sample_weights=self._values)
        return bags.view(*heard.shape[:-2], *bags.shape)


class Exchange:
    """One round of a fixed graph for tensors of a fixed width.

    A single buffer holds this rank's rows and, below them, the rows that others send; a persistent
    neighbor collective fills the lower part, and the matching columns of each matrix mix. Where nobody hears another
    rank, it may lie on a GPU.
    """

    def __init__(
        self, wire: Wire, rows: Rows, parts: Sequence[tuple[Block, int]], dtype: torch.dtype, device: torch.device
    ) -> None:
        """``parts``: the rows of a matrix, and how much of the width is multiplied by it."""
        width, hosted = sum(size for _, size in parts), len(rows.columns) - int(rows.wanted.sum())
        self._parts = parts
        self._buffer = torch.empty(len(rows.columns), width, dtype=dtype, device=device)
        self._own = self._buffer[:hosted]
        self._slab = self._own.unsqueeze(0)
        self._request: MPI.Prequest | None = None
        self._exchange: Callable[[], object] | None = None
        self._pack: Tensor | None = None
        self._packed = self._own
        if not wire.silent:  # a collective is everybody's, also of those who have nothing to say this round
            kind = KINDS[dtype]
            (out, places), into = wire.counts(rows.given, rows.wanted, width)
            blocks = [block for block in np.split(rows.pack, np.cumsum(rows.given)[:-1]) if len(block)]
            if all(len(block) == block[-1] - block[0] + 1 for block in blocks):  # as they lie, without a copy
                places = np.zeros(len(out), dtype=np.int64)
                places[out > 0] = [block[0] * width for block in blocks]
            else:
                self._pack = torch.as_tensor(rows.pack)
                self._packed = torch.empty(len(rows.pack), width, dtype=dtype)
            send = [self._packed.numpy(), (out, places), kind]
            receive = [self._buffer[hosted:].numpy(), into, kind]
            try:
                self._request = wire.graph.Neighbor_alltoallv_init(send, receive)
                self._exchange = self._start_and_wait
            except NotImplementedError:  # an MPI older than version 4, such as OpenMPI 4.1
                self._exchange = partial(wire.graph.Neighbor_alltoallv, send, receive)

    def __call__(self, tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        torch.cat(tensors, dim=2, out=self._slab)
        if self._pack is not None:
            torch.index_select(self._own, 0, self._pack, out=self._packed)
        if self._exchange is not None:
            self._exchange()
        if len(self._parts) == 1:
            mixed = self._parts[0][0](self._buffer)
        else:
            pieces = self._buffer.split([size for _, size in self._parts], dim=-1)
            mixed = torch.cat([block(piece) for (block, _), piece in zip(self._parts, pieces, strict=True)], dim=-1)
        return mixed.unsqueeze(0).split([tensor.shape[-1] for tensor in tensors], dim=-1)

    def _start_and_wait(self) -> None:
        assert self._request is not None
        self._request.Start()
        self._request.Wait()

    def free(self) -> None:
        if self._request is not None:
            self._request.Free()
