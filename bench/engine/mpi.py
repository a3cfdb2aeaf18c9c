"""One rank's view of the network: neighbours' rows by message, everything else by reduction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from mpi4py import MPI
from torch import Tensor

from bench.base.errors import UserError
from bench.network.certificate import Matrices
from bench.network.links import OneWayNetwork
from bench.network.mixing import Mixing, Operator
from bench.network.sparse import Pattern, Sparse
from bench.training.running_sums import RunningSums, on_arcs, slots
from bench.training.world import Mixer, Unpack

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


class Rows:
    """Which rows of the network a rank needs in a round, and which of its own the others need."""

    def __init__(self, pattern: Pattern, values: np.ndarray, ranks: int, rank: int) -> None:
        n = pattern.nodes
        owner = np.repeat(np.arange(ranks), [len(nodes_of_rank(n, ranks, r)) for r in range(ranks)])
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

    def __init__(self, comm: MPI.Intracomm, heard: Pattern) -> None:
        rows = Rows(heard, np.ones(len(heard.rows)), comm.size, comm.rank)
        self._sources, self._targets = np.flatnonzero(rows.wanted), np.flatnonzero(rows.given)
        self.graph = dist_graph(comm, self._sources.tolist(), self._targets.tolist())

    def counts(self, given: np.ndarray, wanted: np.ndarray, width: int) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
        """How much goes to every target and comes from every source, and where it lies, in entries."""
        out, into = given[self._targets] * width, wanted[self._sources] * width
        return (out, np.cumsum(out) - out), (into, np.cumsum(into) - into)

    def carry(self, send: Tensor, given: np.ndarray, wanted: np.ndarray) -> Tensor:
        """Rows to the targets, as many as ``given`` says to each rank, and as many as are ``wanted`` from the sources."""
        received = torch.empty(int(wanted.sum()), send.shape[-1], dtype=send.dtype)
        if len(self._sources) or len(self._targets):
            out, into = self.counts(given, wanted, send.shape[-1])
            kind = KINDS[send.dtype]
            self.graph.Neighbor_alltoallv([send.contiguous().numpy(), out, kind], [received.numpy(), into, kind])
        return received

    def free(self) -> None:
        self.graph.Free()


KINDS = {torch.float64: MPI.DOUBLE, torch.float32: MPI.FLOAT, torch.uint8: MPI.BYTE}


class Exchange:
    """One round of a fixed graph for tensors of a fixed width.

    A single buffer holds this rank's rows and, below them, the rows that others send; a persistent
    neighbour collective fills the lower part, and a product with the matching columns of each matrix mixes.
    """

    def __init__(self, wire: Wire, rows: Rows, parts: Sequence[tuple[Tensor, int]], dtype: torch.dtype) -> None:
        """``parts``: a matrix, (hosted, columns of ``rows``), and how much of the width is multiplied by it."""
        width, hosted = sum(size for _, size in parts), len(rows.columns) - int(rows.wanted.sum())
        self._parts = parts
        self._buffer = torch.empty(len(rows.columns), width, dtype=dtype)
        self._own = self._buffer[:hosted]
        self._slab = self._own.unsqueeze(0)
        self._request: MPI.Prequest | None = None
        self._exchange: Callable[[], object] | None = None
        self._pack: Tensor | None = None
        self._packed = self._own
        if rows.given.any() or rows.wanted.any():
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
            mixed = torch.mm(self._parts[0][0], self._buffer)
        else:
            pieces = self._buffer.split([size for _, size in self._parts], dim=-1)
            mixed = torch.cat([torch.mm(w, piece) for (w, _), piece in zip(self._parts, pieces, strict=True)], dim=-1)
        return mixed.unsqueeze(0).split([tensor.shape[-1] for tensor in tensors], dim=-1)

    def _start_and_wait(self) -> None:
        assert self._request is not None
        self._request.Start()
        self._request.Wait()

    def free(self) -> None:
        if self._request is not None:
            self._request.Free()


Parts = tuple[tuple[Operator, int], ...]
"""Which matrix multiplies how much of the width."""


class RankMixer(Mixer):
    """The rounds of one rank: what its nodes hear comes by message."""

    def __init__(self, comm: MPI.Intracomm, mixing: Mixing, dtype: torch.dtype, device: torch.device) -> None:
        self._comm, self._mixing, self._dtype, self._device = comm, mixing, dtype, device
        self._mine = nodes_of_rank(mixing.nodes, comm.size, comm.rank)
        self._wire = Wire(comm, mixing.heard)
        self._exchanges: dict[tuple[int, Parts], Exchange] = {}
        self._rows: dict[int, Rows] = {}
        self._sums: RunningSums | None = None
        if mixing.one_way:
            self._slots = slots(mixing.heard)
            self._sums = RunningSums(1, self._mine, self._slots, dtype, torch.device("cpu"))

    def __call__(self, r: int, t: int, tensors: tuple[Tensor, ...], by: Operator = "mix") -> tuple[Tensor, ...]:
        """All ranks call with the same widths in the same order."""
        return self._round(r, t, tensors, ((by, sum(tensor.shape[-1] for tensor in tensors)),))

    def both(
        self, r: int, t: int, pushed: tuple[Tensor, ...], pulled: tuple[Tensor, ...]
    ) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        sizes = [sum(tensor.shape[-1] for tensor in tensors) for tensors in (pushed, pulled)]
        mixed = self._round(r, t, (*pushed, *pulled), (("push", sizes[0]), ("pull", sizes[1])))
        return mixed[: len(pushed)], mixed[len(pushed) :]

    def _round(self, r: int, t: int, tensors: tuple[Tensor, ...], parts: Parts) -> tuple[Tensor, ...]:
        there = tensors if self._device.type == "cpu" else tuple(tensor.cpu() for tensor in tensors)
        if self._sums is not None:
            mixed = self._by_running_sums(r, t, there, self._sums)
        elif self._mixing.changing:
            mixed = self._changing(r, t, there, parts)
        else:
            mixed = self._exchange(r, parts)(there)
        return mixed if self._device.type == "cpu" else tuple(tensor.to(self._device) for tensor in mixed)

    def _exchange(self, r: int, parts: Parts) -> Exchange:
        key = r % (self._mixing.period or 1), parts
        if key not in self._exchanges:
            rows = self._rows_at(r)
            matrices = [(self._dense(self._mixing.at(r), by, rows), size) for by, size in parts]
            self._exchanges[key] = Exchange(self._wire, rows, matrices, self._dtype)
        return self._exchanges[key]

    def _rows_at(self, r: int) -> Rows:
        """What a round of a network that repeats needs."""
        turn = r % (self._mixing.period or 1)
        if turn not in self._rows:
            w = self._mixing.at(r).any
            self._rows[turn] = Rows(w.pattern, w.values, self._comm.size, self._comm.rank)
        return self._rows[turn]

    def _dense(self, matrices: Matrices, by: Operator, rows: Rows) -> Tensor:
        local = rows.local(getattr(matrices, by), self._mine)
        w = np.zeros((len(self._mine), len(rows.columns)))
        w[local.pattern.rows, local.pattern.columns] = local.values
        return torch.as_tensor(w, dtype=self._dtype)

    def _changing(self, r: int, t: int, tensors: tuple[Tensor, ...], parts: Parts) -> tuple[Tensor, ...]:
        """A round whose matrices are its own."""
        matrices = self._mixing.at(r, t)
        rows = Rows(matrices.any.pattern, matrices.any.values, self._comm.size, self._comm.rank)
        own = torch.cat(tensors, dim=2)[0]
        heard = torch.cat([own, self._wire.carry(own[torch.as_tensor(rows.pack)], rows.given, rows.wanted)])
        mixed = []
        for (by, _), piece in zip(parts, heard.split([size for _, size in parts], dim=-1), strict=True):
            local = rows.local(getattr(matrices, by), self._mine)
            columns, starts = torch.as_tensor(local.pattern.columns), torch.as_tensor(local.pattern.starts)
            weights = torch.as_tensor(local.values, dtype=self._dtype)
            mixed.append(F.embedding_bag(columns, piece, starts, mode="sum", per_sample_weights=weights))
        return torch.cat(mixed, dim=-1).unsqueeze(0).split([tensor.shape[-1] for tensor in tensors], dim=-1)

    def compressed(
        self, r: int, t: int, payloads: tuple[Tensor, ...], said: tuple[Tensor, ...], unpack: Unpack
    ) -> tuple[Tensor, ...]:
        """The payloads travel as one row of bytes, and are unpacked where they arrive."""
        if self._mixing.kind == "all_reduce":
            raise UserError("An all-reduce adds up numbers, not payloads: compress on a network, or leave it out.")
        rows = self._rows_at(r)
        packed = torch.cat(payloads, dim=2)[0].cpu()
        arrived = self._wire.carry(packed[torch.as_tensor(rows.pack)], rows.given, rows.wanted)
        others = rows.columns[len(self._mine) :].tolist()
        mixed = []
        pieces = arrived.split([payload.shape[-1] for payload in payloads], dim=-1)
        for i, (own, piece) in enumerate(zip(said, pieces, strict=True)):
            heard = torch.cat([own, unpack(i, piece.unsqueeze(0).to(own.device), others)], dim=1)
            mixed.append(torch.matmul(self._dense(self._mixing.at(r), "mix", rows).to(own.device), heard))
        return tuple(mixed)

    def _by_running_sums(self, r: int, t: int, tensors: tuple[Tensor, ...], sums: RunningSums) -> tuple[Tensor, ...]:
        """Totals travel, one for each arc whose message arrives."""
        mixing = self._mixing
        assert isinstance(mixing, OneWayNetwork)
        first, call, x = self._mine.start, sums.call(t), torch.cat(tensors, dim=2)[0]
        push = mixing.at(r, t).push
        assert push is not None
        weights, own = on_arcs(push, mixing.heard)
        arrives = mixing.delivered(t) & (weights != 0)
        source, target = self._slots.source, self._slots.target
        hosted = [(ends >= self._mine.start) & (ends < self._mine.stop) for ends in (source, target)]
        out = np.flatnonzero(hosted[0])
        share = torch.as_tensor(weights[out], dtype=self._dtype)[:, None] * x[torch.as_tensor(source[out] - first)]
        totals = sums.send(call, share.unsqueeze(0), out)[0]
        owner = np.searchsorted(
            [nodes_of_rank(mixing.nodes, self._comm.size, k).stop for k in range(self._comm.size)],
            np.arange(mixing.nodes),
            side="right",
        )
        place = np.full(len(source), -1)
        place[out] = np.arange(len(out))
        leaving = np.flatnonzero(arrives & hosted[0] & ~hosted[1])
        leaving = leaving[np.argsort(owner[target[leaving]], kind="stable")]
        coming = np.flatnonzero(arrives & hosted[1] & ~hosted[0])
        coming = coming[np.argsort(owner[source[coming]], kind="stable")]
        staying = np.flatnonzero(arrives & hosted[0] & hosted[1])
        ranks = self._comm.size
        carried = self._wire.carry(
            totals[torch.as_tensor(place[leaving])],
            np.bincount(owner[target[leaving]], minlength=ranks),
            np.bincount(owner[source[coming]], minlength=ranks),
        )
        arcs = np.concatenate([staying, coming])
        seen = torch.cat([totals[torch.as_tensor(place[staying])], carried]).unsqueeze(0)
        news = sums.receive(call, seen, torch.ones(1, len(arcs), dtype=torch.bool), arcs)
        kept = torch.as_tensor(own[self._mine.start : self._mine.stop], dtype=self._dtype)[:, None] * x
        mixed = kept.unsqueeze(0).index_add(1, torch.as_tensor(target[arcs] - first), news)
        return mixed.split([tensor.shape[-1] for tensor in tensors], dim=-1)

    def kept(self) -> dict[str, Tensor]:
        return {} if self._sums is None else self._sums.kept()

    def restore(self, kept: Mapping[str, Tensor]) -> None:
        if self._sums is not None:
            self._sums.restore({name: tensor.cpu() for name, tensor in kept.items()})

    def free(self) -> None:
        for exchange in self._exchanges.values():
            exchange.free()
        self._wire.free()


class AllReduce(Mixer):
    """The exact average, by MPI's own reduction."""

    def __init__(self, world: MPIWorld) -> None:
        self._world = world

    def __call__(self, r: int, t: int, tensors: tuple[Tensor, ...], by: Operator = "mix") -> tuple[Tensor, ...]:
        nodes, total = self._world.nodes, self._world.total
        return tuple((total(x.sum(1, keepdim=True)) / nodes).expand_as(x) for x in tensors)

    def free(self) -> None:
        """Nothing is held."""


class MPIWorld:
    """The nodes of this rank, in a communicator of their own for one run."""

    def __init__(self, comm: MPI.Intracomm, mixing: Mixing, dtype: torch.dtype, device: torch.device) -> None:
        self._comm = comm.Dup()
        self.nodes = mixing.nodes
        self.hosted = nodes_of_rank(mixing.nodes, comm.size, comm.rank)
        self._mixer = AllReduce(self) if mixing.kind == "all_reduce" else RankMixer(self._comm, mixing, dtype, device)

    @property
    def mixer(self) -> Mixer:
        return self._mixer

    def __enter__(self) -> MPIWorld:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if error is None:  # after an error the world is coming down, and freeing could wait for the dead
            self._mixer.free()
            self._comm.Free()

    def total(self, share: Tensor) -> Tensor:
        total = share.cpu().clone(memory_format=torch.contiguous_format)
        self._comm.Allreduce(MPI.IN_PLACE, total.numpy())
        return total.to(share.device)
