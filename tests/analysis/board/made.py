"""A hand-made board: runs whose costs of all targets are known."""

import numpy as np
import pandas as pd

from analysis.board.usual import usual
from analysis.results.results import Results
from bench.base.board_file import board_of

BATCH, NODES, STEPS = 4, 8, 1024
"""D-SGD reaches target k after 2^(k−1) steps at the rate 1."""
EVALUATIONS = np.append(0, 2 ** np.arange(11))
REPORT = [100, 101, 102, 103, 104]
METHODS = {"twin": "gt", "slow": "ed"}
"""The methods of entrants with another name."""
DATASETS = {"D1": "quadratics", "T1": "a9a", "T2": "letter", "V1": "digits"}


def workload(stratum, dataset):
    settings = {"dataset": dataset, "topology": "ring", "batch_size": BATCH, "nodes": NODES}
    return {"stratum": stratum, "budget": STEPS, "set": settings}


SAID = {
    "version": 1,
    "targets": 8,
    "comparisons": 31,
    "networks": [],
    "common": {"tracker": "none"},
    "side": {},
    "sealed": {
        "budget": 10,
        "nodes": [8],
        "topology": ["ring"],
        **{key: [0.1, 1.0] for key in ("dimension", "condition", "spread", "noise", "observed")},
    },
    "pilot": {"entrants": ["dsgd"], "budget": 0.1},
    "hidden": {"workloads": ["T1"], "seeds": [0], "factor": 3, "without": {}},
    "milliseconds": {},
    "grid": {"follow": [0.1, 1], "length": [0.1, 1], "extension": 2, "extensions": 2},
    "schedules": ["fixed"],
    "evaluations": 32,
    "prices": {
        "gradients": {"gradient": 0.01, "latency": 0, "bandwidth": float("inf")},
        "latency": {"gradient": 0.01, "latency": 0.05, "bandwidth": 1.25e8},
    },
    "seeds": {"tune": [0, 1], "report": REPORT, "gate": [0, 1]},
    "workloads": {name: workload(name[0], DATASETS[name]) for name in ("D1", "T1", "T2")},
    "dev": {"V1": workload("V", DATASETS["V1"])},
    "entrants": {
        name: {"stepsize": "eta", "method": METHODS.get(name, name)}
        for name in ("dsgd", "dsgt", "twin", "slow", "dadam", "dsgdm", "qg_dsgdm")
    },
    "ranked": ["dsgd", "dsgt", "twin", "slow", "dadam", "dsgdm", "qg_dsgdm"],
    "bounds": {
        "pooled_dsgd": {"method": "dsgd", "stepsize": "eta", "set": {"topology": "all_reduce"}, "reference": True}
    },
}


def made_board(**changes):
    return board_of({**SAID, **changes})


def run(name, eta, rate, workload, seed, *, minimum=1.0, rounds=1, state="done", topology="ring", floor=0.0, **labels):
    """A run whose loss is 1 + 256 (steps)^−rate after one step, from 513, and not less than 1 + floor.

    ``labels`` are those that differ from the protocol.
    """
    algo = METHODS.get(name, name)
    settings = {"algo": algo, "dataset": DATASETS[workload], "topology": topology, "steps": STEPS, "eval_every": 32}
    name = f"{name}-{eta:g}-{workload}-{seed}-{topology}" + "".join(f"-{v}" for v in labels.values())
    usually = {**usual(settings), "batch_size": BATCH, "nodes": NODES}
    labels = {**usually, "run_id": name, "eta": eta, "schedule": "fixed", "seed": seed, "state": state, **labels}
    losses = 1 + 512 * np.append(1, np.maximum(0.5 * EVALUATIONS[1:] ** -float(rate), floor / 512))
    rows = {"run_id": name, "step": EVALUATIONS, "gradients": EVALUATIONS * BATCH * NODES, "node_loss": losses}
    rows |= {"rounds": EVALUATIONS * rounds, "bytes": 0.0 * EVALUATIONS, "train_loss": losses}
    if minimum is not None:
        rows["suboptimality"] = losses - minimum
    return labels, pd.DataFrame(rows)


def grid(algo, rates, workloads=("D1", "T1", "T2"), seeds=(0, 1, *REPORT), spread=0.0, **more):
    """Runs of a method with a convergence rate for each stepsize; seeds differ by ``spread`` in the rate."""
    return [
        run(algo, eta, rate + spread * (seed % 10), workload, seed, **more)
        for eta, rate in rates.items()
        for workload in workloads
        for seed in seeds
    ]


def results(*runs, provenance=None):
    labels, rows = zip(*runs, strict=True)
    facts = {
        one["run_id"]: {
            "algorithm": {
                "name": one["algo"],
                "gradients": 1,
                "provenance": (provenance or {}).get(one["algo"], "paper"),
            }
        }
        for one in labels
    }
    return Results(pd.DataFrame(labels), pd.concat(rows, ignore_index=True), facts, [], "invented")
