"""Exchange of rows between ranks: the rows that a round needs, the neighbors of a rank, and persistent exchanges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from mpi4py import MPI
from torch import Tensor

from bench.network.certificate import Matrices
from bench.network.mixing import Mixing, Operator
from bench.network.sparse import Pattern, Sparse

dist_graph = MPI.Intracomm.Create_dist_graph_adjacent
SPARSE_FROM = 256
"""Hosted nodes from which a sparse matrix is applied edge by edge; with fewer nodes, a dense product is faster."""
KINDS = {torch.float64: MPI.DOUBLE, torch.float32: MPI.FLOAT, torch.uint8: MPI.BYTE}


def nodes_of_rank(nodes: int, ranks: int, rank: int) -> range:
    """Return the nodes of one rank: contiguous, sizes differing by at most one."""
    return range(nodes * rank // ranks, nodes * (rank + 1) // ranks)


def rank_of_nodes(nodes: int, ranks: int) -> np.ndarray:
    """Return for every node the rank that hosts it."""
    return np.repeat(np.arange(ranks), [len(nodes_of_rank(nodes, ranks, rank)) for rank in range(ranks)])


class Rows:
    """The rows that a rank receives and sends in a round; a row is the vector of one node."""

    def __init__(self, w: Sparse, ranks: int, rank: int) -> None:
        n = w.pattern.nodes
        owner = rank_of_nodes(n, ranks)
        self._mine = nodes_of_rank(n, ranks, rank)
        nonzero = w.values != 0
        source, target = w.pattern.columns[nonzero], w.pattern.rows[nonzero]
        receives = (owner[target] == rank) & (owner[source] != rank)
        sends = (owner[source] == rank) & (owner[target] != rank)
        wanted = np.unique(source[receives])  # ordered by rank, since the nodes of a rank are contiguous
        given = np.unique(owner[target[sends]] * n + source[sends])
        self.columns = np.concatenate([np.arange(self._mine.start, self._mine.stop), wanted])
        self.wanted = np.bincount(owner[wanted], minlength=ranks)  # number of rows from each rank
        self.given = np.bincount(given // n, minlength=ranks)  # number of rows to each rank
        self.pack = given % n - self._mine.start  # local numbers of the rows to send, by target rank

    def local(self, w: Sparse) -> Sparse:
        """Return the hosted rows of a matrix, its columns numbered as in ``columns``, without zeros."""
        mine = self._mine
        keep = (w.pattern.rows >= mine.start) & (w.pattern.rows < mine.stop) & (w.values != 0)
        place = np.zeros(w.pattern.nodes, dtype=np.int64)
        place[self.columns] = np.arange(len(self.columns))
        return Sparse(
            Pattern(len(mine), w.pattern.rows[keep] - mine.start, place[w.pattern.columns[keep]]), w.values[keep]
        )


class Wire:
    """The connections of a rank to all ranks that it may ever exchange rows with."""

    def __init__(self, comm: MPI.Intracomm, mixing: Mixing) -> None:
        if mixing.anybody:
            self._sources = self._targets = np.delete(np.arange(comm.size), comm.rank)
        else:
            rows = Rows(Sparse(mixing.heard, np.ones(len(mixing.heard.rows))), comm.size, comm.rank)
            self._sources, self._targets = np.flatnonzero(rows.wanted), np.flatnonzero(rows.given)
        self.silent = not comm.allreduce(len(self._sources) + len(self._targets))  # no rank ever needs another's rows
        self.graph = dist_graph(comm, self._sources.tolist(), self._targets.tolist())

    def counts(self, given: np.ndarray, wanted: np.ndarray, width: int) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
        """Return counts and offsets, in entries, of the messages to every target and from every source."""
        out, into = given[self._targets] * width, wanted[self._sources] * width
        return (out, np.cumsum(out) - out), (into, np.cumsum(into) - into)

    def carry(self, send: Tensor, given: np.ndarray, wanted: np.ndarray) -> Tensor:
        """Send rows, ``given[rank]`` to each rank; return the received ones, ``wanted[rank]`` from each."""
        received = torch.empty(int(wanted.sum()), send.shape[-1], dtype=send.dtype, device=send.device)
        if not self.silent:
            out, into = self.counts(given, wanted, send.shape[-1])
            kind = KINDS[send.dtype]
            self.graph.Neighbor_alltoallv([send.contiguous().numpy(), out, kind], [received.numpy(), into, kind])
        return received

    def free(self) -> None:
        self.graph.Free()


class Block:
    """The rows of a matrix that a rank hosts."""

    def __init__(self, local: Sparse, columns: int, dtype: torch.dtype, device: torch.device, sparse: bool) -> None:
        pattern, values = local.pattern, torch.as_tensor(local.values, dtype=dtype, device=device)
        hosted = pattern.nodes
        self.sparse = sparse or (hosted >= SPARSE_FROM and len(local.values) < hosted * columns / 8)
        if self.sparse:
            self._columns, self._starts = (
                torch.as_tensor(places, device=device) for places in (pattern.columns, pattern.starts)
            )
            self._values = values
        else:
            w = np.zeros((hosted, columns))
            w[pattern.rows, pattern.columns] = local.values
            self._dense = torch.as_tensor(w, dtype=dtype, device=device)

    def __call__(self, rows: Tensor) -> Tensor:
        """Multiply: from (columns, width) to (hosted, width), or from (1, columns, width) to (1, hosted, width)."""
        if not self.sparse:
            return torch.matmul(self._dense, rows)
        flat = rows.reshape(rows.shape[-2:])
        bags = F.embedding_bag(self._columns, flat, self._starts, mode="sum", per_sample_weights=self._values)
        return bags.view(*rows.shape[:-2], *bags.shape)


class Round:
    """The matrices of one round on one rank; ``sparse``: always apply them edge by edge."""

    def __init__(self, matrices: Matrices, comm: MPI.Intracomm, dtype: torch.dtype, sparse: bool = False) -> None:
        self.rows = Rows(matrices.any, comm.size, comm.rank)
        self._matrices, self._dtype, self._sparse = matrices, dtype, sparse
        self._blocks: dict[tuple[Operator, torch.device], Block] = {}

    def block(self, by: Operator, device: torch.device) -> Block:
        """Return the hosted rows of a matrix."""
        if (by, device) not in self._blocks:
            local = self.rows.local(getattr(self._matrices, by))
            self._blocks[by, device] = Block(local, len(self.rows.columns), self._dtype, device, self._sparse)
        return self._blocks[by, device]


class Exchange:
    """One round of a fixed graph for tensors of a fixed width.

    One buffer holds the rows of this rank and below them the rows of its neighbors, which a persistent neighbor
    collective receives. The buffer may be on a GPU if no rank needs another's rows.
    """

    def __init__(
        self, wire: Wire, rows: Rows, parts: Sequence[tuple[Block, int]], dtype: torch.dtype, device: torch.device
    ) -> None:
        """``parts``: blocks, and the width that each multiplies."""
        width, hosted = sum(size for _, size in parts), len(rows.columns) - int(rows.wanted.sum())
        self._parts = parts
        self._buffer = torch.empty(len(rows.columns), width, dtype=dtype, device=device)
        self._own = self._buffer[:hosted]
        self._slab = self._own.unsqueeze(0)
        self._request: MPI.Prequest | None = None
        self._exchange: Callable[[], object] | None = None
        self._pack: Tensor | None = None
        self._packed = self._own
        if not wire.silent:  # all ranks take part in a collective, also those without rows to send
            kind = KINDS[dtype]
            (out, places), into = wire.counts(rows.given, rows.wanted, width)
            blocks = [block for block in np.split(rows.pack, np.cumsum(rows.given)[:-1]) if len(block)]
            if all(len(block) == block[-1] - block[0] + 1 for block in blocks):  # contiguous rows need no copy
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
            except NotImplementedError:  # an MPI before version 4, such as OpenMPI 4.1
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
