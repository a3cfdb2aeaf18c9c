"""One rank's view of the network: neighbours' rows by message, everything else by reduction."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import TracebackType

import numpy as np
import torch
from mpi4py import MPI
from torch import Tensor

from bench.base.errors import UserError
from bench.network.mixing import Mixing

dist_graph = MPI.Intracomm.Create_dist_graph_adjacent


def nodes_of_rank(nodes: int, ranks: int, rank: int) -> range:
    """The nodes of one rank: contiguous, sizes differing by at most one."""
    return range(nodes * rank // ranks, nodes * (rank + 1) // ranks)


def agree(comm: MPI.Intracomm, what: str, value: str) -> None:
    """All ranks hold the same value, or none goes on."""
    values = comm.allgather(value)
    odd = [rank for rank, other in enumerate(values) if other != values[0]]
    if odd:
        raise UserError(
            f"Ranks disagree about the {what}: rank 0 has {values[0]}, rank {odd[0]} has {values[odd[0]]}. "
            "Do all machines have the same source and files?"
        )


class Exchange:
    """One round of a fixed graph for tensors of a fixed width.

    A single buffer holds this rank's rows and, below them, the rows that others send; a persistent
    neighbour collective fills the lower part, and one product with the matching columns of W mixes.
    """

    def __init__(self, comm: MPI.Intracomm, w: np.ndarray, width: int, dtype: torch.dtype) -> None:
        nodes, ranks, rank = len(w), comm.size, comm.rank
        blocks = [np.array(nodes_of_rank(nodes, ranks, r)) for r in range(ranks)]
        mine = blocks[rank]
        peers = [r for r in range(ranks) if r != rank and w[np.ix_(mine, blocks[r])].any()]
        wanted = [blocks[r][w[np.ix_(mine, blocks[r])].any(axis=0)] for r in peers]
        given = [mine[w[np.ix_(blocks[r], mine)].any(axis=0)] - mine[0] for r in peers]

        columns = np.concatenate([mine, *wanted])
        self._w = torch.as_tensor(w[np.ix_(mine, columns)], dtype=dtype)
        self._buffer = torch.empty(len(columns), width, dtype=dtype)
        self._own = self._buffer[: len(mine)]
        self._slab = self._own.unsqueeze(0)
        self._graph = dist_graph(comm, peers, peers)
        self._request: MPI.Prequest | None = None
        self._exchange: Callable[[], object] | None = None
        self._pack: Tensor | None = None
        self._packed = self._own
        if peers:
            starts = [int(rows[0]) for rows in given]
            if any(len(rows) != rows[-1] - rows[0] + 1 for rows in given):  # scattered rows are gathered first
                self._pack = torch.as_tensor(np.concatenate(given))
                self._packed = torch.empty(len(self._pack), width, dtype=dtype)
                starts = np.cumsum([0, *(len(rows) for rows in given[:-1])]).tolist()
            kind = MPI.DOUBLE if dtype == torch.float64 else MPI.FLOAT
            got = np.cumsum([len(mine), *(len(rows) for rows in wanted[:-1])])
            send = [self._packed.numpy(), ([len(rows) * width for rows in given], [s * width for s in starts]), kind]
            receive = [self._buffer.numpy(), ([len(rows) * width for rows in wanted], (got * width).tolist()), kind]
            try:
                self._request = self._graph.Neighbor_alltoallv_init(send, receive)
                self._exchange = self._start_and_wait
            except NotImplementedError:  # an MPI older than version 4, such as OpenMPI 4.1
                self._exchange = partial(self._graph.Neighbor_alltoallv, send, receive)

    def __call__(self, tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        torch.cat(tensors, dim=2, out=self._slab)
        if self._pack is not None:
            torch.index_select(self._own, 0, self._pack, out=self._packed)
        if self._exchange is not None:
            self._exchange()
        mixed = torch.mm(self._w, self._buffer).unsqueeze(0)
        return mixed.split([tensor.shape[-1] for tensor in tensors], dim=-1)

    def _start_and_wait(self) -> None:
        assert self._request is not None
        self._request.Start()
        self._request.Wait()

    def free(self) -> None:
        if self._request is not None:
            self._request.Free()
        self._graph.Free()


class MPIWorld:
    """The nodes of this rank, in a communicator of their own for one run."""

    def __init__(self, comm: MPI.Intracomm, mixing: Mixing, dtype: torch.dtype, device: torch.device) -> None:
        self._comm = comm.Dup()
        self.nodes = mixing.nodes
        self.hosted = nodes_of_rank(mixing.nodes, comm.size, comm.rank)
        self._mixing, self._dtype, self._device = mixing, dtype, device
        self._exchanges: dict[tuple[int, int], Exchange] = {}

    def __enter__(self) -> MPIWorld:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if error is None:  # after an error the world is coming down, and freeing could wait for the dead
            for exchange in self._exchanges.values():
                exchange.free()
            self._comm.Free()

    def mixer(self, r: int, tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Round r for the hosted rows. All ranks call with the same widths in the same order."""
        if self._mixing.kind == "all_reduce":
            return tuple((self.total(x.sum(1, keepdim=True)) / self.nodes).expand_as(x) for x in tensors)
        key = r % self._mixing.period, sum(tensor.shape[-1] for tensor in tensors)
        if key not in self._exchanges:
            self._exchanges[key] = Exchange(self._comm, self._mixing.matrices[key[0]], key[1], self._dtype)
        if self._device.type == "cpu":
            return self._exchanges[key](tensors)
        mixed = self._exchanges[key](tuple(tensor.cpu() for tensor in tensors))
        return tuple(tensor.to(self._device) for tensor in mixed)

    def total(self, share: Tensor) -> Tensor:
        total = share.cpu().clone(memory_format=torch.contiguous_format)
        self._comm.Allreduce(MPI.IN_PLACE, total.numpy())
        return total.to(share.device)
