"""The engines, by name: how each computes a run, and how many processes and threads it uses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import torch

from bench.base.errors import UserError
from bench.base.machine import core_share, cores, several_machines, slurm_tasks
from bench.base.options import NonNegative, Positive
from bench.base.registry import engines
from bench.build.build import run_in
from bench.build.events import check_engine
from bench.build.global_draws import GlobalDraws, plugins_of
from bench.build.network import mixing_of
from bench.build.rates import check_rates
from bench.build.rehearsal import rehearse
from bench.config.run_config import RunConfig
from bench.engine import stacked
from bench.engine.launch import launcher
from bench.engine.listener import AUTO, LOOPBACK
from bench.engine.stacked import ReplicaObserver
from bench.store.record import Row
from bench.training import checkpoint
from bench.training.checkpoint import Resume
from bench.training.observer import Observer, Snapshot


class Launch(NamedTuple):
    """How to start the processes of a rank pool."""

    words: list[str] | None = None  # the launch command; None: a single process
    host: str = LOOPBACK  # where the processes reach the runner
    elsewhere: bool = False  # whether the processes may run on other machines


class Engine(ABC):
    """Base of all engines. Annotated class attributes with a value are options of the engine."""

    grouped: ClassVar[bool]  # whether runs that differ only in stepsizes, seed and graph form one program
    one_process: ClassVar[bool]  # whether a run needs one process, which survives a failed run
    asynchronous: ClassVar[bool] = False  # whether it runs asynchronous methods, and no others
    timeout_s: NonNegative = 300.0  # seconds without progress after which a run fails

    def __init__(self, **options: Any) -> None:
        for name, value in options.items():
            setattr(self, name, value)

    @property
    def stays(self) -> bool:
        """Whether the processes stay for the next run."""
        return True

    @property
    def memory_gb(self) -> float | None:
        """Memory in GB for all groups that run at the same time; None: the free memory of the machine."""
        return None

    def check(self, config: RunConfig) -> None:
        """Raise UserError if this engine cannot compute the run on this machine."""
        if config.device == "cuda" and not torch.cuda.is_available():
            raise UserError("device=cuda needs a GPU, and torch finds none. Use device=cpu.")
        if self.asynchronous:
            check_rates(config)
        check_engine(config, self.asynchronous)
        if self.one_process and config.ranks:
            raise UserError(f"engine={config.engine.name} uses one process, got ranks={config.ranks}. Use engine=mpi.")

    def ranks(self, config: RunConfig, jobs: int = 1) -> int:
        """Return the number of processes of a run, if so many jobs share the machine."""
        return 1

    def threads(self, jobs: int = 1) -> int:
        """Threads for each of them."""
        return core_share(jobs)

    def launch_by(self) -> Launch:
        return Launch()

    @abstractmethod
    def compute(self, configs: Sequence[RunConfig], observer: Observer, resume: Resume | None, comm: Any) -> None:
        """Compute this process's part of the runs; ``comm`` is the MPI communicator, None for a single process."""


class Watched(ReplicaObserver):
    """Fails a run before its next evaluation or checkpoint if a plug-in has used a global random generator."""

    def __init__(self, whole: Observer, configs: Sequence[RunConfig]) -> None:
        super().__init__(whole, range(len(configs)))
        self._plugins, self._draws = plugins_of(configs[0]), GlobalDraws()

    def record(self, r: int, row: Row) -> None:
        self._draws.check(self._plugins)
        super().record(r, row)

    def checkpoint(self, r: int, moment: Snapshot) -> None:
        self._draws.check(self._plugins)
        super().checkpoint(r, moment)


class InOneProcess(Engine):
    """All nodes of all replicas in one process."""

    grouped = True
    one_process = True
    memory_gb: Positive | None = None

    def compute(self, configs: Sequence[RunConfig], observer: Observer, resume: Resume | None, comm: Any) -> None:
        rehearse(configs[0], observer.tick)
        stacked.run(configs, Watched(observer, configs), resume)


@engines.register("stacked")
class Stacked(InOneProcess):
    """All nodes of all replicas in one process, as one tensor program."""

    capture: bool = True


@engines.register("events")
class Events(InOneProcess):
    """Asynchronous methods: the events of all nodes in the order of their virtual times."""

    asynchronous = True


@engines.register("mpi")
class Ranks(Engine):
    """One run at a time, its nodes spread over MPI ranks."""

    grouped = False
    one_process = False
    launch: list[str] | None = None
    pool: bool = True
    host: str = AUTO

    @property
    def stays(self) -> bool:
        return self.pool

    def check(self, config: RunConfig) -> None:
        super().check(config)
        if config.ranks and config.ranks > config.nodes:
            raise UserError(f"ranks must be at most nodes={config.nodes}, got {config.ranks}.")
        launcher(self.launch)

    def ranks(self, config: RunConfig, jobs: int = 1) -> int:
        """Return one per core or task of a SLURM job, divided by the jobs, and at most one per node."""
        return config.ranks or min(config.nodes, max(1, (slurm_tasks() or cores()) // jobs))

    def threads(self, jobs: int = 1) -> int:
        return 1

    def launch_by(self) -> Launch:
        elsewhere = bool(self.launch) or several_machines()
        host = LOOPBACK if self.host == AUTO and not elsewhere else self.host
        return Launch(launcher(self.launch), host, elsewhere)

    def compute(self, configs: Sequence[RunConfig], observer: Observer, resume: Resume | None, comm: Any) -> None:
        from bench.engine.mpi import MPIHosting, agree, take_gpu  # not in the runner: importing mpi4py starts MPI

        (config,) = configs
        mixing = mixing_of(config)
        agree(comm, "configuration", config.run_id)
        agree(comm, "mixing matrix", mixing.certificate.hash)
        if config.device == "cuda":
            take_gpu(comm)
        dtype, device = getattr(torch, config.dtype), torch.device(config.device)
        if comm.rank == 0:
            rehearse(config, observer.tick)
        observer = Watched(observer, configs)
        with MPIHosting(comm, mixing, dtype, device) as hosting:
            begin = None if resume is None else checkpoint.load(resume, hosting.hosted, dtype, device)
            _, moment = run_in(hosting, [config], observer, begin)
            seconds = comm.allgather(moment.seconds[0])
        observer.learn(0, {"seconds": mean_and_max(seconds)})


def mean_and_max(seconds: Sequence[Row]) -> dict[str, dict[str, float]]:
    """Return the mean and the maximum over ranks of each timer, for the manifest."""
    spent = {name: [one[name] for one in seconds] for name in seconds[0]}
    return {name: {"mean": sum(each) / len(each), "max": max(each)} for name, each in spent.items()}


def engine_of(config: RunConfig) -> Engine:
    """Return the engine of a configuration, with its options."""
    engine: Engine = engines[config.engine.name](**config.engine.options)
    return engine
