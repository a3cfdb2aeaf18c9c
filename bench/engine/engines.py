"""The engines: how runs are computed, by name. What differs between them is said here and nowhere else."""

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
from bench.build.network import mixing_of
from bench.config.run_config import RunConfig
from bench.engine import stacked
from bench.engine.addresses import AUTO, LOOPBACK
from bench.engine.launch import launcher
from bench.store.record import Row
from bench.training import checkpoint
from bench.training.checkpoint import Resume
from bench.training.observer import Observer


class Launch(NamedTuple):
    """How the processes of a world are started; without words, it is one process."""

    words: list[str] | None = None
    host: str = LOOPBACK  # where they reach the runner
    elsewhere: bool = False  # they may live on other machines


class Engine(ABC):
    """Base of all engines. Annotated class attributes with a value are options of the engine."""

    grouped: ClassVar[bool]  # runs that differ only in stepsizes, seed and graph are replicas of one program
    one_process: ClassVar[bool]  # the runner's own will do, and one that is started outlives a run that fails

    def __init__(self, **options: Any) -> None:
        for name, value in options.items():
            setattr(self, name, value)

    @property
    @abstractmethod
    def timeout_s(self) -> float:
        """Seconds without progress after which a run has failed."""

    @property
    def stays(self) -> bool:
        """Whether its processes are kept for the next run."""
        return True

    @property
    def memory_gb(self) -> float | None:
        """What the groups under way may take together; None: as much as the machine can spare."""
        return None

    def check(self, config: RunConfig) -> None:
        """A UserError if this run cannot be made here."""
        if config.device == "cuda" and not torch.cuda.is_available():
            raise UserError("device=cuda, but torch finds no GPU here; use device=cpu.")
        if self.one_process and config.ranks:
            raise UserError(f"ranks={config.ranks} is for engine=mpi; engine={config.engine.name} is one process.")

    def ranks(self, config: RunConfig, jobs: int = 1) -> int:
        """Processes for one run, where so many jobs share the machine."""
        return 1

    def threads(self, jobs: int = 1) -> int:
        """Threads for each of them."""
        return core_share(jobs)

    def launch_by(self) -> Launch:
        return Launch()

    @abstractmethod
    def compute(self, configs: Sequence[RunConfig], observer: Observer, resume: Resume | None, comm: Any) -> None:
        """The part of this process in these runs; ``comm`` joins the processes that have one, None: this one alone."""


@engines.register("stacked")
class Stacked(Engine):
    """All nodes of all replicas in one process, as one tensor program."""

    grouped = True
    one_process = True
    memory_gb: Positive | None = None
    timeout_s: NonNegative = 300.0

    def compute(self, configs: Sequence[RunConfig], observer: Observer, resume: Resume | None, comm: Any) -> None:
        stacked.run(configs, observer, resume)


@engines.register("mpi")
class Ranks(Engine):
    """One run at a time, its nodes spread over MPI ranks."""

    grouped = False
    one_process = False
    launch: list[str] | None = None
    pool: bool = True
    timeout_s: NonNegative = 300.0
    host: str = AUTO

    @property
    def stays(self) -> bool:
        return self.pool

    def check(self, config: RunConfig) -> None:
        super().check(config)
        if config.ranks and config.ranks > config.nodes:
            raise UserError(f"ranks={config.ranks} is more than nodes={config.nodes}: some ranks would host nobody.")
        launcher(self.launch)

    def ranks(self, config: RunConfig, jobs: int = 1) -> int:
        """One per core, or per task of a SLURM job, but no more than nodes; cores are shared between jobs."""
        return config.ranks or min(config.nodes, max(1, (slurm_tasks() or cores()) // jobs))

    def threads(self, jobs: int = 1) -> int:
        return 1

    def launch_by(self) -> Launch:
        elsewhere = bool(self.launch) or several_machines()
        host = LOOPBACK if self.host == AUTO and not elsewhere else self.host
        return Launch(launcher(self.launch), host, elsewhere)

    def compute(self, configs: Sequence[RunConfig], observer: Observer, resume: Resume | None, comm: Any) -> None:
        from bench.engine.mpi import MPIHosting, agree, take_gpu  # whoever imports mpi4py is a rank; the runner is none

        (config,) = configs
        mixing = mixing_of(config)
        agree(comm, "configuration", config.run_id)
        agree(comm, "mixing matrix", mixing.certificate.hash)
        if config.device == "cuda":
            take_gpu(comm)
        dtype, device = getattr(torch, config.dtype), torch.device(config.device)
        with MPIHosting(comm, mixing, dtype, device) as hosting:
            begin = None if resume is None else checkpoint.load(resume, hosting.hosted, dtype, device)
            _, moment = run_in(hosting, [config], observer, begin)
            seconds = comm.allgather(moment.seconds[0])
        observer.learn(0, {"seconds": of_all(seconds)})


def of_all(seconds: Sequence[Row]) -> dict[str, dict[str, float]]:
    """What ranks have spent, for the manifest: on average, and the most of any."""
    spent = {name: [one[name] for one in seconds] for name in seconds[0]}
    return {name: {"mean": sum(each) / len(each), "max": max(each)} for name, each in spent.items()}


def engine_of(config: RunConfig) -> Engine:
    """The engine of a configuration, with its options."""
    engine: Engine = engines[config.engine.name](**config.engine.options)
    return engine
