"""Every method on several graphs: one process on a CPU against ranks, if run under mpiexec, or against a GPU."""

import json
import sys
import tempfile
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np
import torch
from mpi4py import MPI

import bench.engine.wire
from bench.base.errors import UserError
from bench.base.registry import algorithms
from bench.build.build import build_algorithm, build_compressor, build_problem, run_in
from bench.build.network import mixing_of
from bench.build.torch_setup import set_up_torch
from bench.engine import stacked
from bench.engine.mpi import MPIHosting, agree
from bench.method.trajectory import trajectory
from bench.problem.problem import Setting
from bench.sweep.preflight import check_network
from bench.training import checkpoint
from bench.training.checkpoint import Resume
from bench.training.costs import CostCounter, Stopwatch
from bench.training.hosting import OneProcess
from bench.training.metrics import measure
from bench.training.mixers import make_mixer
from bench.training.network import Network, make_oracles
from bench.training.observer import Observer
from tests.helpers.configs import config
from tests.helpers.synchronous import SYNCHRONOUS

STEPS, DTYPE, CPU = 50, torch.float64, torch.device("cpu")
GRAPHS = ["ring", "one_peer_exponential"]
AVERAGE = ["complete", "all_reduce"]
"""Where references are at home."""
PAPER = ("dsgd", "dsgt", "dasagt", "dnasa", "d2")
"""Methods that are also tried on a model: the exchange does not know what it carries."""
ONCE = ["random", "star", "torus"]
"""Graphs for one method only: the exchange does not know who uses it."""
SOME = ["dsgd", "dsgt", "dnasa", "d2", "push_pull"]
"""Methods that do every kind of exchange between them; more are tried where all are asked for."""


LEAST_SQUARES = {"name": "synthetic", "dimension": 12, "evaluation": 100}
DIGRAPH = {"name": "random_digraph", "p": 0.5}
CASES = {
    "sgp digraph": {"algo": "sgp", "topology": DIGRAPH},
    "push_pull digraph": {"algo": "push_pull", "topology": DIGRAPH},
    "push_diging directed ring": {"algo": "push_diging", "topology": "directed_ring"},
    "dsgd directed exponential": {"algo": "dsgd", "topology": "directed_exponential"},
    "dnasa matching": {"topology": "matching"},
    "dsgt drawn": {"algo": "dsgt", "topology": {"name": "random_each_round", "p": 0.4}},
    "dnasa lossy": {"links": {"name": "lossy", "p": 0.3}},
    "dsgt zero-filled": {"algo": "dsgt", "links": {"name": "lossy", "p": 0.3, "semantics": "zero_fill"}},
    "d2 outages": {"algo": "d2", "topology": {"name": "star"}, "links": {"name": "outages", "p": 0.1}},
    "dnasa lossy matching": {"topology": "matching", "links": {"name": "lossy", "p": 0.3}},
    "push_pull lossy digraph": {"algo": "push_pull", "topology": DIGRAPH, "links": {"name": "lossy", "p": 0.3}},
    "sgp one way": {"algo": "sgp", "topology": DIGRAPH, "links": {"name": "one_way", "p": 0.3}},
    "push_diging one way": {"algo": "push_diging", "topology": "directed_ring", "links": {"name": "one_way", "p": 0.3}},
    **{
        f"choco {name}": {"algo": "choco", "dataset": LEAST_SQUARES, "compressor": {"name": name}}
        for name in ("none", "top_k", "random_k", "qsgd", "sign")
    },
    "choco matching": {
        "algo": "choco",
        "dataset": LEAST_SQUARES,
        "topology": "matching",
        "compressor": {"name": "top_k"},
    },
    "choco lossy": {"algo": "choco", "dataset": LEAST_SQUARES, "links": {"name": "lossy", "p": 0.3}},
    "deepstorm l1": {"algo": "deepstorm", "dataset": "digits", "regularizer": {"name": "l1", "alpha": 1e-3}},
    "dnasa logistic nonconvex": {
        "dataset": {"name": "planted", "samples": 300, "tests": 50, "features": 9},
        "loss": {"name": "logistic"},
        "regularizer": {"name": "nonconvex"},
    },
    "dnasa heavy tail": {"dataset": {"name": "heavy_tail"}},
    "dsgt phase retrieval": {"algo": "dsgt", "dataset": {"name": "phase_retrieval", "samples": 20, "evaluation": 20}},
}
"""Networks that point one way, change, lose and compress; objectives of every kind."""
SHARED = (2, 3)
"""Numbers of ranks that have several nodes each, evenly and unevenly."""
EVERYWHERE = ("push_pull lossy digraph", "dnasa lossy matching", "choco top_k")
"""Those that are also tried where one rank has all nodes, or each has one."""
PERCEPTRON = {"name": "module", "target": "benchmarks.plain:Perceptron", "kwargs": {"hidden": 8}}
TRACED = {"dsgt module": {"algo": "dsgt", "dataset": "digits", "model": PERCEPTRON}}
"""On two ranks alone: every rank takes seconds to trace it."""
MANY = 2 * bench.engine.wire.SPARSE_FROM
MANY_CASES = {
    "dnasa ring": {},
    "dsgt torus": {"algo": "dsgt", "topology": "torus"},
    "push_pull digraph": {"algo": "push_pull", "topology": {"name": "random_digraph", "p": 0.02}},
    "dnasa turns": {"topology": "one_peer_exponential"},
    "choco top_k": {"algo": "choco", "compressor": {"name": "top_k"}},
}
"""With so many nodes a rank that what they hear is summed edge by edge: on one rank and on two."""
RESUMED = ("dnasa lossy", "dnasa matching", "d2 outages", "push_diging one way", "choco random_k")
"""Those that go on here from where one process stood."""


def computed(c, hosting, device=CPU):
    """States x after every step, and the measurements at the end."""
    setting = Setting(c.nodes, hosting.hosted, (c.seed,), c.batch_size, DTYPE, device)
    problem = build_problem(c, setting)
    algorithm = build_algorithm([c], problem)
    mixing, clock = mixing_of(c), Stopwatch(1)
    costs = CostCounter(problem, [mixing])
    compressor = build_compressor(c, problem.layout.size)
    network = Network(hosting, algorithm.properties, costs, clock, (c.seed,), compressor, mixing.one_way)
    grad, mix = make_oracles(problem, network, costs)
    states = []
    with torch.no_grad():
        for t, state in trajectory(algorithm, problem.start(), grad, mix, c.steps):
            network.step = t
            states.append(state)
        xs = torch.stack([state.x[0] for state in states])
        return xs.cpu().numpy(), measure(states[-1], problem, hosting, algorithm.properties)


def alone(c, device=CPU):
    return computed(c, OneProcess(c.nodes, make_mixer([mixing_of(c)], DTYPE, device)), device)


def shared(comm, cases, compute) -> dict:
    """What ``compute`` makes of every case; each rank does its part of them, for who waits does so busily."""
    mine = {name: compute(c) for name, c in list(cases.items())[comm.rank :: comm.size]}
    return {name: made for part in comm.allgather(mine) for name, made in part.items()}


def difference(comm, c, expected) -> float:
    """Between what the ranks compute together and what one process does."""
    with MPIHosting(comm, mixing_of(c), DTYPE, CPU) as hosting:
        x, measured = computed(c, hosting)
    return largest(np.concatenate(comm.allgather(x), axis=1), measured, *expected)


def largest(whole, measured, xs, measures) -> float:
    """The largest relative difference of two runs, of all parameters after every step and of the last evaluation."""
    off = [np.abs(whole - xs).max() / np.abs(xs).max()]
    for name, value in vars(measures).items():
        if value is not None and name not in ("consensus", "consensus_z", "own"):
            off.append(float(abs(value[0] - vars(measured)[name][0]) / abs(value[0])))
    return max(off)


class Keeps(Observer):
    """The rows of a run, and its checkpoint in the middle."""

    def __init__(self, folder):
        self.folder, self.rows = folder, []

    def record(self, r, row):
        self.rows.append(row)

    def checkpoint(self, r, moment):
        checkpoint.write(self.folder, moment, range(len(moment.state["x"][0])))


def begun(folder, c) -> list:
    """The rows of a run that one process makes, which leaves a checkpoint of its middle."""
    kept = Keeps(folder / c.run_id)
    stacked.run([c], kept)
    return kept.rows


def resumed(comm, c, folder, rows) -> float:
    """A run that one process began goes on here: the largest difference in what it measures."""
    before, after = ([row for row in rows if (row["step"] <= STEPS // 2) == early] for early in (True, False))
    rest = Keeps(folder / c.run_id)
    with MPIHosting(comm, mixing_of(c), DTYPE, CPU) as hosting:
        begin = checkpoint.load(Resume(STEPS // 2, [rest.folder], before[-1:]), hosting.hosted, DTYPE, CPU)
        run_in(hosting, [c], rest, begin)
    names = ("train_loss", "grad_norm", "bytes")
    pairs = [(a[name], b[name]) for a, b in zip(after, rest.rows, strict=True) for name in names]
    return max(abs(a - b) / abs(a) for a, b in pairs)


@contextmanager
def without_persistent_collectives():
    """As in an MPI older than version 4."""

    def refuse(*_):
        raise NotImplementedError

    class Old(MPI.Distgraphcomm):
        Neighbor_alltoallv_init = refuse

    new = MPI.Intracomm.Create_dist_graph_adjacent
    bench.engine.wire.dist_graph = lambda comm, *args: Old(new(comm, *args))
    yield
    bench.engine.wire.dist_graph = new


def asked(nodes, ranks, whose) -> dict:
    """The configurations of this call, by name."""
    cases = {}
    for name in SYNCHRONOUS if whose == "all" else SOME:
        properties = algorithms[name].declare_for({})
        graphs = AVERAGE if properties.exact_average else [*GRAPHS, *ONCE] if name == "dnasa" else GRAPHS
        for graph in graphs:
            for dataset in ("synthetic", "digits") if graph == "ring" and name in PAPER else ("synthetic",):
                topology = {"name": graph, **({"lazy": True} if properties.lambda_min is not None else {})}
                size = {"dimension": 12, "evaluation": 100} if dataset == "synthetic" else {}
                c = config(algo=name, topology=topology, dataset={"name": dataset, **size}, nodes=nodes, steps=STEPS)
                with suppress(UserError):
                    check_network(c)
                    cases[f"{name} {graph} {dataset}"] = c
    for name, changes in {**CASES, **(TRACED if ranks == 2 else {})}.items():
        if name in EVERYWHERE or ranks in SHARED:
            cases[name] = config(nodes=nodes, steps=STEPS, dtype="float64", **changes)
    few = {"dataset": "quadratics", "steps": 10, "dtype": "float64"}
    for name, changes in MANY_CASES.items() if ranks <= 2 else ():
        cases[f"{name}, many"] = config(nodes=MANY, **few, **changes)
    return cases


def main() -> None:
    comm = MPI.COMM_WORLD
    torch.set_num_threads(1)
    set_up_torch()
    nodes, whose = int(sys.argv[1]), sys.argv[2]
    cases = asked(nodes, comm.size, whose)
    expected = shared(comm, cases, alone)
    out = {name: difference(comm, c, expected[name]) for name, c in cases.items()}
    with without_persistent_collectives():
        c = config(topology="star", nodes=nodes, steps=STEPS)
        out["dnasa star, MPI 3"] = difference(comm, c, alone(c))
    half = {"checkpoint_every": STEPS // 2, "eval_every": 4}
    again = RESUMED if comm.size in SHARED else ()
    halved = {name: config(nodes=nodes, steps=STEPS, dtype="float64", **half, **CASES[name]) for name in again}
    with tempfile.TemporaryDirectory() if comm.rank == 0 else nullcontext() as made:
        folder = Path(comm.bcast(made))
        rows = shared(comm, halved, partial(begun, folder))
        out |= {f"{name}, resumed": resumed(comm, c, folder, rows[name]) for name, c in halved.items()}
        comm.Barrier()
    agree(comm, "time of day", "noon")
    try:
        agree(comm, "time of day", "night" if comm.rank == comm.size - 1 else "noon")
        out["disagreement"] = "not noticed"
    except UserError as error:
        out["disagreement"] = str(error)
    if comm.rank == 0:
        print(json.dumps(out))


if __name__ == "__main__":
    main()
