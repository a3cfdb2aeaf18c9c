"""Mixing on one rank: neighbors' rows by message, sums by reduction."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from mpi4py import MPI
from torch import Tensor

from bench.base.errors import UserError
from bench.engine.wire import Exchange, Round, Rows, Wire, nodes_of_rank, rank_of_nodes
from bench.network.faulty import OneWayNetwork
from bench.network.mixing import Mixing, Operator
from bench.training.hosting import Mixer, Unpack
from bench.training.running_sums import RunningSums, on_arcs, slots


def agree(comm: MPI.Intracomm, what: str, value: str) -> None:
    """Raise UserError on all ranks unless they have the same value."""
    values = comm.allgather(value)
    odd = [rank for rank, other in enumerate(values) if other != values[0]]
    if odd:
        raise UserError(
            f"Ranks disagree about the {what}: rank 0 has {values[0]}, rank {odd[0]} has {values[odd[0]]}. "
            "Check that all machines have the same source and files."
        )


def take_gpu(comm: MPI.Intracomm) -> None:
    """Make ``cuda`` mean one GPU of this machine; the ranks of a machine take its GPUs in turn."""
    here = comm.Split_type(MPI.COMM_TYPE_SHARED)
    torch.cuda.set_device(here.rank % torch.cuda.device_count())
    here.Free()


Parts = tuple[tuple[Operator, int], ...]
"""Matrices, and the width that each multiplies."""


class RankMixer(Mixer):
    """Mixes the rows of the hosted nodes with those of their neighbors on other ranks, received by message."""

    def __init__(self, comm: MPI.Intracomm, mixing: Mixing, dtype: torch.dtype, device: torch.device) -> None:
        self._comm, self._mixing, self._dtype, self._device = comm, mixing, dtype, device
        self._mine = nodes_of_rank(mixing.nodes, comm.size, comm.rank)
        self._wire = Wire(comm, mixing)
        stays = self._wire.silent and not mixing.one_way  # MPI sends from the CPU
        self._place = device if stays else torch.device("cpu")
        self._rounds: dict[int, Round] = {}
        self._exchanges: dict[tuple[Round, Parts], Exchange] = {}
        self._sums: RunningSums | None = None
        if mixing.one_way:
            self._slots = slots(mixing.heard)
            self._sums = RunningSums(1, self._mine, self._slots, dtype, self._place)

    def __call__(self, r: int, t: int, tensors: tuple[Tensor, ...], by: Operator = "mix") -> tuple[Tensor, ...]:
        """All ranks call with the same widths in the same order."""
        return self._mix(r, t, tensors, ((by, sum(tensor.shape[-1] for tensor in tensors)),))

    def both(
        self, r: int, t: int, pushed: tuple[Tensor, ...], pulled: tuple[Tensor, ...]
    ) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        sizes = [sum(tensor.shape[-1] for tensor in tensors) for tensors in (pushed, pulled)]
        mixed = self._mix(r, t, (*pushed, *pulled), (("push", sizes[0]), ("pull", sizes[1])))
        return mixed[: len(pushed)], mixed[len(pushed) :]

    def _mix(self, r: int, t: int, tensors: tuple[Tensor, ...], parts: Parts) -> tuple[Tensor, ...]:
        there = tensors if self._device == self._place else tuple(tensor.to(self._place) for tensor in tensors)
        if self._sums is not None:
            mixed = self._by_running_sums(r, t, there, self._sums)
        elif self._mixing.changing:
            mixed = self._changing(r, t, there, parts)
        else:
            mixed = self._exchange(r, parts)(there)
        return mixed if self._device == self._place else tuple(tensor.to(self._device) for tensor in mixed)

    def _round(self, r: int, t: int) -> Round:
        """Return the matrices of a round: drawn for this round, or those of its turn in the period."""
        if self._mixing.changing:
            return Round(self._mixing.at(r, t), self._comm, self._dtype, sparse=True)
        turn = r % (self._mixing.period or 1)
        if turn not in self._rounds:
            self._rounds[turn] = Round(self._mixing.at(r), self._comm, self._dtype)
        return self._rounds[turn]

    def _exchange(self, r: int, parts: Parts) -> Exchange:
        here = self._round(r, 0)
        if (here, parts) not in self._exchanges:
            blocks = [(here.block(by, self._place), size) for by, size in parts]
            self._exchanges[here, parts] = Exchange(self._wire, here.rows, blocks, self._dtype, self._place)
        return self._exchanges[here, parts]

    def _changing(self, r: int, t: int, tensors: tuple[Tensor, ...], parts: Parts) -> tuple[Tensor, ...]:
        here = self._round(r, t)
        own = torch.cat(tensors, dim=2)[0]
        pieces = torch.cat([own, self._carry(own, here.rows)]).split([size for _, size in parts], dim=-1)
        mixed = [here.block(by, self._place)(piece) for (by, _), piece in zip(parts, pieces, strict=True)]
        return torch.cat(mixed, dim=-1).unsqueeze(0).split([tensor.shape[-1] for tensor in tensors], dim=-1)

    def _carry(self, own: Tensor, rows: Rows) -> Tensor:
        """Send the rows that other ranks need in a round, and return those that this rank needs."""
        return self._wire.carry(own[torch.as_tensor(rows.pack)], rows.given, rows.wanted)

    def compressed(
        self, r: int, t: int, payloads: tuple[Tensor, ...], said: tuple[Tensor, ...], unpack: Unpack
    ) -> tuple[Tensor, ...]:
        """Send the payloads of a node as one row of bytes; the receiver unpacks them."""
        here = self._round(r, t)
        arrived = self._carry(torch.cat(payloads, dim=2)[0].cpu(), here.rows)
        others = here.rows.columns[len(self._mine) :].tolist()
        mixed = []
        pieces = arrived.split([payload.shape[-1] for payload in payloads], dim=-1)
        for i, (own, piece) in enumerate(zip(said, pieces, strict=True)):
            rows = torch.cat([own, unpack(i, piece.unsqueeze(0).to(own.device), others)], dim=1)
            mixed.append(here.block("mix", own.device)(rows))
        return tuple(mixed)

    def _by_running_sums(self, r: int, t: int, tensors: tuple[Tensor, ...], sums: RunningSums) -> tuple[Tensor, ...]:
        """Send the running sum of every arc whose message arrives."""
        mixing = self._mixing
        assert isinstance(mixing, OneWayNetwork)
        first, ranks, call, x = self._mine.start, self._comm.size, sums.call(t), torch.cat(tensors, dim=2)[0]
        push = mixing.at(r, t).push
        assert push is not None
        weights, own = on_arcs(push, mixing.heard)
        arrives = mixing.delivered(t) & (weights != 0)
        source, target = self._slots.source, self._slots.target
        owner = rank_of_nodes(mixing.nodes, ranks)
        hosted = [owner[ends] == self._comm.rank for ends in (source, target)]
        out = np.flatnonzero(hosted[0])
        share = torch.as_tensor(weights[out], dtype=self._dtype)[:, None] * x[torch.as_tensor(source[out] - first)]
        totals = sums.send(call, share.unsqueeze(0), out)[0]
        place = np.full(len(source), -1)
        place[out] = np.arange(len(out))
        leaving = np.flatnonzero(arrives & hosted[0] & ~hosted[1])
        leaving = leaving[np.argsort(owner[target[leaving]], kind="stable")]
        coming = np.flatnonzero(arrives & hosted[1] & ~hosted[0])
        coming = coming[np.argsort(owner[source[coming]], kind="stable")]
        staying = np.flatnonzero(arrives & hosted[0] & hosted[1])
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
    """Computes the exact average by an MPI reduction."""

    def __init__(self, hosting: MPIHosting) -> None:
        self._hosting = hosting

    def __call__(self, r: int, t: int, tensors: tuple[Tensor, ...], by: Operator = "mix") -> tuple[Tensor, ...]:
        nodes, total = self._hosting.nodes, self._hosting.total
        return tuple((total(x.sum(1, keepdim=True)) / nodes).expand_as(x) for x in tensors)

    def free(self) -> None:
        """Do nothing: no MPI objects to free."""


class MPIHosting:
    """The nodes of this rank, with a separate communicator for one run."""

    def __init__(self, comm: MPI.Intracomm, mixing: Mixing, dtype: torch.dtype, device: torch.device) -> None:
        self._comm = comm.Dup()
        self.nodes = mixing.nodes
        self.hosted = nodes_of_rank(mixing.nodes, comm.size, comm.rank)
        self.mixer = AllReduce(self) if mixing.kind == "all_reduce" else RankMixer(self._comm, mixing, dtype, device)

    def __enter__(self) -> MPIHosting:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:  # after an error, freeing could wait for ranks that have ended
            self.mixer.free()
            self._comm.Free()

    def total(self, share: Tensor) -> Tensor:
        total = share.cpu().clone(memory_format=torch.contiguous_format)
        self._comm.Allreduce(MPI.IN_PLACE, total.numpy())
        return total.to(share.device)
