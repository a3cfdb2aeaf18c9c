"""Costs of a run against counts by hand: resumed, in replicas and on ranks."""

from dataclasses import replace

import pytest
import torch

from bench.base.randomness import EVERYONE, generator
from bench.base.registry import algorithms
from bench.build.build import build_problem
from bench.contracts import methods as contract
from bench.engine.stacked import run as run_stacked
from bench.problem.problem import Setting
from bench.training import checkpoint
from bench.training.checkpoint import Resume
from tests.helpers import generous
from tests.helpers.configs import Kept, config, rows

COUNTED = ("samples", "gradients", "rounds", "vectors_sent", "scalars_sent", "bytes")
STEPS = 40
algorithms._items.pop("generous", None)  # known in these tests alone


@pytest.fixture(autouse=True)
def _known(monkeypatch):
    monkeypatch.setitem(algorithms._items, "generous", generous.Generous)


SAMPLES, FEATURES = 240, 6
P = 2 * (FEATURES + 1)  # of a linear model with two classes
DATA = {"name": "planted", "samples": SAMPLES, "tests": 30, "features": FEATURES}


def chosen(**changes):
    return config(algo={"name": "generous", "eta": 0.05}, dataset=DATA, nodes=4, batch_size=3, **changes)


def heads(seed: int, steps: int) -> int:
    """Of the coin, in that many steps."""
    return sum(generator(seed, EVERYONE, "coin", t).random() < 0.25 for t in range(steps))


def by_hand(seed: int, steps: int, epoch: int, p: int) -> dict[str, int]:
    """A ring of 4 has 8 directed edges; 4 nodes take 3 samples each for a mini-batch."""
    talks = heads(seed, steps)
    numbers = 8 * (p + steps * p + talks * (2 * p + 1))
    return {
        "samples": 12 * (1 + steps) + epoch,
        "gradients": 12 * (1 + 2 * steps) + epoch,
        "rounds": 1 + steps + talks,
        "vectors_sent": 1 + steps + 2 * talks,
        "scalars_sent": numbers,
        "bytes": 8 * numbers,
    }


def counted(row):
    return {name: row[name] for name in COUNTED}


def test_rounds_with_different_amounts_by_hand():
    (measured,) = rows(chosen())
    assert 0 < heads(0, STEPS) < STEPS / 2
    for row in measured:
        assert counted(row) == by_hand(0, row["step"], SAMPLES, P)


def test_only_replicas_that_communicate_are_charged():
    many = [chosen(seed=seed) for seed in (0, 1)] + [chosen(topology="all_reduce"), chosen(topology="alone")]
    ring, other, every, alone = (measured[-1] for measured in rows(*many))
    assert counted(ring) == by_hand(0, STEPS, SAMPLES, P)
    assert counted(other) == by_hand(1, STEPS, SAMPLES, P)
    assert ring["rounds"] != other["rounds"]
    assert every["scalars_sent"] == ring["scalars_sent"] * 6 // 8  # 2(n−1) copies, where the ring has 2n
    assert (alone["scalars_sent"], alone["bytes"], alone["rounds"]) == (0, 0, ring["rounds"])


def test_a_resumed_run_has_the_costs_of_an_uninterrupted_one(tmp_path):
    (whole,) = rows(chosen())

    class Keeper(Kept):
        def checkpoint(self, r, moment):
            checkpoint.write(tmp_path, moment, range(4))

    kept = Keeper()
    run_stacked([chosen(checkpoint_every=15)], kept)
    assert checkpoint.steps(tmp_path, 4) == [30, 15]
    rest = Kept()
    run_stacked([chosen()], rest, Resume(15, [tmp_path], [kept.rows[0][1]]))
    for row, expected in zip(rest.rows[0], whole[2:], strict=True):
        assert counted(row) == counted(expected)
        assert row["train_loss"] == expected["train_loss"]


@pytest.mark.thorough
@pytest.mark.xdist_group("mpi")
@pytest.mark.parametrize("graphs", [["ring"], ["all_reduce", "alone"]])
def test_ranks_have_the_costs_of_one_process(ranks, graphs):
    for topology in graphs:
        (alone,) = rows(chosen(topology=topology))
        kept = Kept()
        ranks.run(chosen(topology=topology), kept)
        for row, expected in zip(kept.rows[0], alone, strict=True):
            assert counted(row) == counted(expected)
            assert row["train_loss"] == pytest.approx(expected["train_loss"], rel=1e-12)


@pytest.mark.thorough
def test_checks_report_only_its_unused_states_and_messages():
    wasteful = {contract.states_read, contract.asked_read}
    for check in (check for check in contract.CHECKS if check not in wasteful):
        check(generous.Generous)
    for check, unused in ((contract.states_read, "state c"), (contract.asked_read, "message 1 of the start")):
        with pytest.raises(contract.CheckFailed, match=unused):
            check(generous.Generous)


def test_measures_at_the_reported_state():
    """The mean of the iterates, which differs from the last iterate."""
    c = config(algo={"name": "generous", "eta": 0.05}, dataset={"name": "quadratics", "dimension": 3}, steps=40)
    problem = build_problem(c, Setting(6, range(6), (0,), 2, torch.float64, torch.device("cpu")))
    seen = []

    class Watch(Kept):
        def checkpoint(self, r, moment):
            seen.append(moment.state["x"].mean(1))

    kept = Watch()
    run_stacked([replace(c, checkpoint_every=1)], kept)
    x, (row,) = torch.stack(seen[:30]), [row for row in kept.rows[0] if row["step"] == 30]
    assert row["train_loss"] == pytest.approx(problem.evaluate(x.mean(0)).train_loss.item(), rel=1e-12)
    assert row["train_loss"] != pytest.approx(problem.evaluate(x[-1]).train_loss.item(), rel=1e-3)
