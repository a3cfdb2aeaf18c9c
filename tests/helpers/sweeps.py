"""Small real sweeps for every figure, made once."""

from __future__ import annotations

from pathlib import Path

import hydra
from rich.console import Console

from bench.config.names import CONF
from bench.config.plan import expand, unique
from bench.sweep.sweep import run_all

HOW = ("engine=stacked", "tracker=none", "jobs=1")
SEEDS = {"seed": [0, 1, 2], "steps": 40, "eval_every": 10}
DIGITS = {"dataset": "digits", **SEEDS}
STREAM = {"dataset.dimension": 10, "dataset.evaluation": 50, **SEEDS}
SPIKE = {"dataset": "spike", "dataset.spike_sd": [10, 100], "nodes": 4, **STREAM}
SHARDS = {"nodes": 4, "batch_size": 4, **DIGITS}
UNEVEN = {"partition": "dirichlet", "partition.alpha": 1, **SHARDS}
TWO = {"topology": ["ring", "complete"]}
SCALED = {"scale": [0.5, 4], **DIGITS}
SWEEPS = {
    "tuned": {"algo": ["dsgd", "dsgt"], "algo.eta": [0.01, 0.1, 1e39], **TWO, **DIGITS},  # 1e39 diverges
    "untuned": {"algo": "dnasa", **TWO, **DIGITS},
    "spike": {"algo": "dsgd", "algo.eta": [1e-5, 1e-4, 1e-3], **SPIKE},
    "spike, untuned": {"algo": "dnasa", **SPIKE},
    "speedup": {"algo": "dnasa", "nodes": [2, 4], "algo.schedule": ["diminishing", "fixed"], **STREAM},
    "rates": {"algo": "dnasa", "nodes": [2, 4], "algo.schedule": "fixed", **STREAM, "steps": 20},
    "scale": {"algo": "dnasa", **SCALED},
    "scale, tuned": {"algo": "dsgd", "algo.eta": 0.1, **SCALED},
    "uneven": {"algo": "dsgd", "algo.eta": 0.1, **UNEVEN},
    "uneven, untuned": {"algo": "dnasa", **UNEVEN},
    "even": {"algo": "dsgd", "algo.eta": 0.1, **SHARDS},
    "even, untuned": {"algo": "dnasa", **SHARDS},
    "released": {"algo": "dnasa", "algo.normalize": "tensor", "algo.average": "gradient", **DIGITS},
}
TWO_OPTIONS = {"algo.eta": [0.01, 0.1], "algo.alpha": [0.1, 0.3, 0.9]}
MORE = {
    "few": {"algo": "dsgd", "algo.eta": [0.1, 1e39], "topology": ["ring", "complete"], **DIGITS},
    "two options": {"algo": "dasagt", "algo.schedule": "constant", **TWO_OPTIONS, **DIGITS},
    "multiplier": {"algo": "dnasa", "algo.multiplier": [0.5, 1, 2], **DIGITS},
    "stream": {"algo": ["dsgd", "dsgt"], "algo.eta": [0.01, 0.1], **STREAM},
}


def make(results: Path, *names: str) -> Path:
    """Run the named sweeps, or all, into a folder."""
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        runs = [
            run for name in names or SWEEPS for run in expand({**SWEEPS, **MORE}[name], [*HOW, f"results={results}"])
        ]
    assert run_all(unique(runs), Console(quiet=True), "small sweeps") == 0
    return results
