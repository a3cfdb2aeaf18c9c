"""One rank's view of the network: neighbors' rows by message, everything else by reduction."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType

import numpy as np
import torch
import torch.nn.functional as F
from mpi4py import MPI
from torch import Tensor

from bench.base.errors import UserError
from bench.engine.wire import Block, Exchange, Rows, Wire, nodes_of_rank, rank_of_nodes
from bench.network.faulty import OneWayNetwork
from bench.network.mixing import Mixing, Operator
from bench.training.hosting import Mixer, Unpack
from bench.training.running_sums import RunningSums, on_arcs, slots


def agree(comm: MPI.Intracomm, what: str, value: str) -> None:
    """All ranks hold the same value, or none goes on."""
    values = comm.allgather(value)
    odd = [rank for rank, other in enumerate(values) if other != values[0]]
    if odd:
        raise UserError(
            f"Ranks disagree about the {what}: rank 0 has {values[0]}, rank {odd[0]} has {values[odd[0]]}. "
            "Do all machines have the same source and files?"
        )


def gpu_of(local_rank: int, devices: int) -> int:
    """Which of a machine's GPUs a rank computes on: its ranks take turns."""
    return local_rank % devices


def place_of_rounds(device: torch.device, silent: bool) -> torch.device:
    """Where a rank mixes: messages are made of what the CPU holds, and where none are sent nothing need leave a GPU."""
    return device if silent else torch.device("cpu")


def take_gpu(comm: MPI.Intracomm) -> None:
    """Make this rank's GPU the one that ``cuda`` means in this process."""
    here = comm.Split_type(MPI.COMM_TYPE_SHARED)
    torch.cuda.set_device(gpu_of(here.rank, torch.cuda.device_count()))
    here.Free()


Parts = tuple[tuple[Operator, int], ...]
"""Which matrix multiplies how much of the width."""


class RankMixer(Mixer):
    """The rounds of one rank: what its nodes hear comes by message."""

    def __init__(self, comm: MPI.Intracomm, mixing: Mixing, dtype: torch.dtype, device: torch.device) -> None:
        self._comm, self._mixing, self._dtype, self._device = comm, mixing, dtype, device
        self._mine = nodes_of_rank(mixing.nodes, comm.size, comm.rank)
        self._wire = Wire(comm, mixing)
        self._place = place_of_rounds(device, self._wire.silent and not mixing.one_way)
        self._exchanges: dict[tuple[int, Parts], Exchange] = {}
        self._blocks: dict[tuple[int, Operator, torch.device], Block] = {}
        self._rows: dict[int, Rows] = {}
        self._sums: RunningSums | None = None
        if mixing.one_way:
            self._slots = slots(mixing.heard)
            self._sums = RunningSums(1, self._mine, self._slots, dtype, self._place)

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
        there = tensors if self._device == self._place else tuple(tensor.to(self._place) for tensor in tensors)
        if self._sums is not None:
            mixed = self._by_running_sums(r, t, there, self._sums)
        elif self._mixing.changing:
            mixed = self._changing(r, t, there, parts)
        else:
            mixed = self._exchange(r, parts)(there)
        return mixed if self._device == self._place else tuple(tensor.to(self._device) for tensor in mixed)

    def _exchange(self, r: int, parts: Parts) -> Exchange:
        key = r % (self._mixing.period or 1), parts
        if key not in self._exchanges:
            blocks = [(self._block(r, by, self._place), size) for by, size in parts]
            self._exchanges[key] = Exchange(self._wire, self._rows_at(r), blocks, self._dtype, self._place)
        return self._exchanges[key]

    def _rows_at(self, r: int) -> Rows:
        """What a round of a network that repeats needs."""
        turn = r % (self._mixing.period or 1)
        if turn not in self._rows:
            w = self._mixing.at(r).any
            self._rows[turn] = Rows(w.pattern, w.values, self._comm.size, self._comm.rank)
        return self._rows[turn]

    def _block(self, r: int, by: Operator, device: torch.device) -> Block:
        """The hosted rows of a matrix."""
        key = r % (self._mixing.period or 1), by, device
        if key not in self._blocks or self._mixing.changing:
            rows = self._rows_at(r)
            local = rows.local(getattr(self._mixing.at(r), by), self._mine)
            self._blocks[key] = Block(local, len(rows.columns), self._dtype, device)
        return self._blocks[key]

    def _changing(self, r: int, t: int, tensors: tuple[Tensor, ...], parts: Parts) -> tuple[Tensor, ...]:
        """A round whose matrices are its own."""
        matrices = self._mixing.at(r, t)
        rows = Rows(matrices.any.pattern, matrices.any.values, self._comm.size, self._comm.rank)
        own = torch.cat(tensors, dim=2)[0]
        heard = torch.cat([own, self._wire.carry(own[torch.as_tensor(rows.pack)], rows.given, rows.wanted)])
        mixed = []
        for (by, _), piece in zip(parts, heard.split([size for _, size in parts], dim=-1), strict=True):
            local = rows.local(getattr(matrices, by), self._mine)
            columns, starts = (
                torch.as_tensor(places, device=self._place) for places in (local.pattern.columns, local.pattern.starts)
            )
            weights = torch.as_tensor(local.values, dtype=self._dtype, device=self._place)
            mixed.append(F.embedding_bag(columns, piece, starts, mode="sum", per_sample_weights=weights))
        return torch.cat(mixed, dim=-1).unsqueeze(0).split([tensor.shape[-1] for tensor in tensors], dim=-1)

    def compressed(
        self, r: int, t: int, payloads: tuple[Tensor, ...], said: tuple[Tensor, ...], unpack: Unpack
    ) -> tuple[Tensor, ...]:
        """The payloads travel as one row of bytes, and are unpacked where they arrive."""
        rows = self._rows_at(r)
        packed = torch.cat(payloads, dim=2)[0].cpu()
        arrived = self._wire.carry(packed[torch.as_tensor(rows.pack)], rows.given, rows.wanted)
        others = rows.columns[len(self._mine) :].tolist()
        mixed = []
        pieces = arrived.split([payload.shape[-1] for payload in payloads], dim=-1)
        for i, (own, piece) in enumerate(zip(said, pieces, strict=True)):
            heard = torch.cat([own, unpack(i, piece.unsqueeze(0).to(own.device), others)], dim=1)
            mixed.append(self._block(r, "mix", own.device)(heard))
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
        owner = rank_of_nodes(mixing.nodes, self._comm.size)
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

    def __init__(self, hosting: MPIHosting) -> None:
        self._hosting = hosting

    def __call__(self, r: int, t: int, tensors: tuple[Tensor, ...], by: Operator = "mix") -> tuple[Tensor, ...]:
        nodes, total = self._hosting.nodes, self._hosting.total
        return tuple((total(x.sum(1, keepdim=True)) / nodes).expand_as(x) for x in tensors)

    def free(self) -> None:
        """Nothing is held."""


class MPIHosting:
    """The nodes of this rank, in a communicator of their own for one run."""

    def __init__(self, comm: MPI.Intracomm, mixing: Mixing, dtype: torch.dtype, device: torch.device) -> None:
        self._comm = comm.Dup()
        self.nodes = mixing.nodes
        self.hosted = nodes_of_rank(mixing.nodes, comm.size, comm.rank)
        self._mixer = AllReduce(self) if mixing.kind == "all_reduce" else RankMixer(self._comm, mixing, dtype, device)

    @property
    def mixer(self) -> Mixer:
        return self._mixer

    def __enter__(self) -> MPIHosting:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if error is None:  # after an error the world is coming down, and freeing could wait for the dead
            self._mixer.free()
            self._comm.Free()

    def total(self, share: Tensor) -> Tensor:
        total = share.cpu().clone(memory_format=torch.contiguous_format)
        self._comm.Allreduce(MPI.IN_PLACE, total.numpy())
        return total.to(share.device)
