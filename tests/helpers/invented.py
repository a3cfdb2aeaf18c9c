"""Results of methods that there are not: as many as one likes, in families, with numbers made by a formula."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.drawing.style import use_paper_style
from analysis.results.results import Results

STEPS = np.arange(0, 401, 10)


def results_of(families: dict[str, int], seeds: int = 3, schedules: Sequence[str] = ("diminishing",)) -> Results:
    """So many methods of each family, on one problem, with two stepsizes and these schedules, each better than the one
    before it."""
    runs, rows, facts = [], [], {}
    names = [(family, f"{family}_{number}") for family, count in families.items() for number in range(count)]
    for place, (family, algo) in enumerate(names):
        for worse, schedule in enumerate(reversed(schedules)):
            for eta, seed in itertools.product((0.1, 1.0), range(seeds)):
                run = f"{algo}-{schedule}-{eta}-{seed}"
                setting = {"run_id": run, "algo": algo, "schedule": schedule, "eta": eta}
                runs.append({**PROBLEM, **setting, "seed": seed, "state": "done"})
                facts[run] = {
                    "algorithm": {"name": algo, "label": algo.replace("_", "-").upper(), "family": family},
                    "mixing": {"rho": 0.8},
                }
                rows.append(_curve(run, place / len(names), eta + 5 * worse, seed))
    return Results(pd.DataFrame(runs), pd.concat(rows, ignore_index=True), facts, [], "invented")


PROBLEM = {"dataset": "a9a", "topology": "ring", "nodes": 8, "steps": 400, "partition": "even", "scale": 1.0}


def made(rows: list[dict], facts: list[dict] | None = None) -> Results:
    """A run for each row, with its labels; what it ends with is ``end``, its accuracy ``accuracy`` where it has one,
    its training loss ``train``, from 1, and its accuracy on validation data ``validation``."""
    use_paper_style()
    rows = [{**PROBLEM, "run_id": f"run{k}", "state": "done", "seed": 0, **row} for k, row in enumerate(rows)]
    runs = pd.DataFrame(rows).drop(columns=["end", "accuracy", "train", "validation"], errors="ignore")
    ends = [
        {
            "run_id": row["run_id"],
            "step": step,
            "epoch": step,
            "bytes": 100 * step,
            "train_loss": row.get("train", 1.0) if step else 1.0,
            "test_loss": value,
        }
        | {"grad_norm": value, "consensus": value, "consensus_bound": None, "test_accuracy": row.get("accuracy")}
        | ({"val_accuracy": row["validation"]} if "validation" in row else {})
        for row in rows
        for step, value in ((0, 1.0), (200, row["end"]), (400, row["end"]))
    ]
    said = facts or [{}] * len(rows)
    return Results(
        runs, pd.DataFrame(ends), {row["run_id"]: fact for row, fact in zip(rows, said, strict=True)}, [], "invented"
    )


def _curve(run: str, place: float, eta: float, seed: int) -> pd.DataFrame:
    """Falling losses, each method to a floor of its own; the smaller stepsize ends better."""
    loss = 0.1 + 0.3 * place + 0.02 * eta + (1 - 0.1 * place) * np.exp(-STEPS / (40 + 80 * place)) + 0.003 * seed
    return pd.DataFrame(
        {
            **{"run_id": run, "step": STEPS, "epoch": STEPS / 10},
            **{"train_loss": loss, "test_loss": 1.1 * loss, "test_accuracy": 100 - 40 * loss},
            **{"stationarity": loss**2, "grad_norm": loss, "consensus": 0.1 * loss},
        }
    )


def of(table, **labels):
    """The rows with these labels."""
    for label, value in labels.items():
        table = table[table[label] == value]
    return table
