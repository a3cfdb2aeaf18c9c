"""Asynchronous runs that stop and continue, run together, or on slower machines have the same numbers."""

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from bench.base.errors import Misfit
from bench.base.registry import algorithms
from bench.clock.compute import Compute
from bench.contracts.play import Pace, play
from bench.engine import stacked
from bench.events.tape import draw_tape
from bench.training import checkpoint
from bench.training.checkpoint import Resume
from bench.training.events import UNDER_WAY
from bench.training.observer import Outcome
from tests.algorithms.asynchronous.runs import LAN, config, numbers
from tests.algorithms.asynchronous.worlds import ASYNCHRONOUS, gradient, start
from tests.helpers.cli import ROOT
from tests.helpers.configs import Kept, rows
from tests.helpers.few import few

LOSSY = {"rasgp": 0.2, "asy_sonata": 0.2, "swift": 0.2}


class Keeper(Kept):
    """Writes every checkpoint of every replica into a folder of its own."""

    def __init__(self, folder, replicas=1):
        super().__init__(replicas)
        self.folder, self.then, self.flying = folder, {}, 0

    def checkpoint(self, r, moment):
        checkpoint.write(self.folder / f"{r}.{moment.step}", moment, range(6))
        self.then[r, moment.step] = self.rows[r][-1]
        self.flying += int(np.count_nonzero(moment.in_flight[UNDER_WAY][..., 0]))


@pytest.mark.parametrize("name", few(ASYNCHRONOUS, ["adpsgd", "osgp", "rasgp"]))
def test_a_run_resumes_after_any_step_bit_for_bit(name, tmp_path):
    c = config(name, checkpoint_every=1, network={**LAN, "drop": LOSSY.get(name, 0.0)})
    keeper = Keeper(tmp_path)
    stacked.run([c], keeper)
    (whole,) = rows(config(name, network={**LAN, "drop": LOSSY.get(name, 0.0)}))
    assert list(map(numbers, keeper.rows[0])) == list(map(numbers, whole))
    for step in (1, 2, 7, 11, 17):
        rest = Kept()
        stacked.run([c], rest, Resume(step, [tmp_path / f"0.{step}"], [keeper.then[0, step]]))
        assert list(map(numbers, rest.rows[0])) == [numbers(row) for row in whole if row["step"] > step]
        assert rest.ends == {0: Outcome("done", 18)}
    assert (keeper.flying > 0) == (algorithms[name].properties.events in ("messages", "one_late"))


@pytest.mark.parametrize(
    "flying",
    [
        lambda kept: {},
        lambda kept: {**kept, UNDER_WAY: torch.full_like(kept[UNDER_WAY], torch.nan)},
        lambda kept: {**kept, UNDER_WAY: kept[UNDER_WAY][:, :, :0]},
        lambda kept: {**kept, UNDER_WAY: without_one(kept[UNDER_WAY])},
        lambda kept: {**kept, UNDER_WAY: kept[UNDER_WAY] * 1e6},
    ],
)
def test_a_checkpoint_with_other_messages_under_way_is_rejected(flying, tmp_path):
    class Damages(Kept):
        def checkpoint(self, r, moment):
            moment = replace(moment, in_flight=flying(moment.in_flight))
            checkpoint.write(tmp_path / str(moment.step), moment, range(6))

    c, keeper = config("swift", checkpoint_every=1, network=LAN), Damages()
    stacked.run([c], keeper)
    with pytest.raises(Misfit):
        stacked.run([c], Kept(), Resume(7, [tmp_path / "7"], [{}]))


def without_one(messages):
    """Remove the first message that is under way."""
    out = messages.clone()
    r, i, place = torch.nonzero(out[..., 0])[0].tolist()
    out[r, i, place] = 0
    return out


def known(row):
    return {name: value for name, value in numbers(row).items() if value is not None}


@pytest.mark.parametrize("name", few(ASYNCHRONOUS, ["swift", "acid"]))
def test_runs_together_equal_runs_alone(name):
    runs = [config({"name": name, "eta": eta}, seed=seed) for eta, seed in ((0.05, 0), (0.1, 0), (0.05, 1))]
    together = rows(*runs)
    for run, row in zip(runs, together, strict=True):
        (alone,) = rows(run)
        for ours, theirs in zip(row, alone, strict=True):
            assert known(ours) == pytest.approx(known(theirs), rel=1e-12)
    assert together[0][-1]["train_loss"] != together[1][-1]["train_loss"] != together[2][-1]["train_loss"]


@pytest.mark.parametrize("name", few(["rasgp", "acid"], ["rasgp"]))
def test_a_run_goes_on_without_those_that_diverged(name, tmp_path):
    etas = (1e150, 0.05, 1e150)
    runs = [config({"name": name, "eta": eta, "schedule": "constant"}, checkpoint_every=1) for eta in etas]
    keeper = Keeper(tmp_path, 3)
    stacked.run(runs, keeper)
    assert [keeper.ends[r].state for r in range(3)] == ["nonfinite", "done", "nonfinite"]
    (alone,) = rows(runs[1])
    assert list(map(numbers, keeper.rows[1])) == list(map(numbers, alone))
    rest = Kept()
    stacked.run(runs[1:2], rest, Resume(13, [tmp_path / "1.13"], [keeper.then[1, 13]]))
    assert list(map(numbers, rest.rows[0])) == [numbers(row) for row in alone if row["step"] > 13]


HASHES = """
import json
from tests.algorithms.asynchronous.runs import config, numbers
from tests.algorithms.asynchronous.worlds import ASYNCHRONOUS
from tests.helpers.configs import Kept
from bench.engine import stacked
for name in ASYNCHRONOUS:
    kept = Kept()
    stacked.run([config(name)], kept)
    print(json.dumps([list(map(numbers, kept.rows[0])), kept.facts[0]["tape"]]))
"""


@pytest.mark.thorough
@pytest.mark.timeout(120)
def test_runs_do_not_depend_on_the_hash_seed():
    out = []
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "OMP_NUM_THREADS": "1"}
        words = [sys.executable, "-c", HASHES]
        out.append(subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout)
    assert out[0] == out[1]
    assert out[0].count("\n") == len(ASYNCHRONOUS)


@pytest.mark.parametrize("name", ASYNCHRONOUS)
def test_doubling_all_times_changes_virtual_seconds_only(name):
    once, twice = (play(algorithms[name], gradient, start(), 12, {}, Pace(scale=scale)) for scale in (1, 2))
    for column in ("kind", "node", "peer", "number"):
        np.testing.assert_array_equal(getattr(once.tape, column), getattr(twice.tape, column))
    if name in ("rasgp", "acid"):  # whose steps have the length of a time, in whole nanoseconds
        torch.testing.assert_close(once.x(), twice.x(), rtol=1e-5, atol=1e-5)
    else:
        assert torch.equal(once.x(), twice.x())
    assert once.costs == twice.costs
    facts, other = once.tape.summary(12), twice.tape.summary(12)
    seconds = {name for name in facts if name == "virtual_s" or "_s_" in name}
    assert len(seconds) == 6
    for column, value in facts.items():
        assert other[column] == pytest.approx(2 * value if column in seconds else value, rel=1e-5)


def made(name, pace):
    """The gradients of every node in 20 steps."""
    tape = pace.tape(algorithms[name], 20, {})
    return np.bincount(tape.node[tape.kind == 2], minlength=6).tolist()


@pytest.mark.parametrize("name", ["swift", "rasgp", "asy_sonata", "acid"])
def test_a_node_that_never_ends_its_gradient_stops_nobody(name):
    usual, stuck = made(name, Pace(slow=1)), made(name, Pace(slow=1e9))
    assert usual[0] > 10
    assert stuck == [0, *usual[1:]]


def test_a_node_that_never_ends_its_gradient_still_serves_pairs():
    usual, stuck = made("adpsgd", Pace(slow=1)), made("adpsgd", Pace(slow=1e9))
    assert stuck[0] == 0
    assert min(stuck[1:]) >= min(usual[1:]) - 2


def test_a_node_that_never_ends_its_gradient_stops_all_that_wait_for_it():
    assert made("osgp", Pace(slow=1e9)) == [0, 1, 2, 3, 2, 1]  # as many as the hops from node 0
    assert made("osgp", Pace("directed_ring", slow=1e9)) in ([0, 1, 2, 3, 4, 5], [0, 5, 4, 3, 2, 1])


@pytest.mark.parametrize("pattern", ["pairs", "meetings", "messages", "one_late"])
def test_a_node_that_never_answers_stops_its_neighbors_if_they_need_an_answer(pattern):
    graph = Pace(nodes=8).graph()
    delays = np.where((graph.source == 1) | (graph.target == 1), 10**15, 100_000)
    compute = Compute(1e-3, lognormal_sigma=0.2)
    tape = draw_tape(pattern, graph.source, graph.target, delays, compute, seed=0, nodes=8, steps=60)
    count = np.bincount(tape.node[tape.kind == 2], minlength=8)
    if pattern == "pairs":  # an active neighbor waits as soon as it has asked; node 1 is locked from then on
        assert count[:3].max() < 10
        assert count[3:].min() > 45
    elif pattern == "one_late":
        assert count.max() <= 4
    else:
        assert count.min() > 45


@pytest.mark.parametrize("name", ["swift", "rasgp"])
def test_messages_that_newer_ones_replace_are_not_sent(name, tmp_path):
    """A message takes 2 ms or more on its link, and a gradient 1 ms: others wait until newer ones replace them."""
    (tmp_path / "slow.yaml").write_text(
        "compute: {gradient_ms: 1}\nlinks: {latency_ms: 0, bandwidth_mbps: 0.1, uplink: separate}\n"
    )
    network = {"name": "file", "path": str(tmp_path / "slow.yaml")}
    (found,) = rows(config(name, network=network, steps=40, eval_every=1))
    links, rate, begun = 6 * 2, 0.1e6 / 8, 2 * 4 * 8  # on a link one message at most is sent, and one waits
    assert found[-1]["messages_replaced"] > 100
    for row in found:
        assert row["bytes"] <= links * (rate * row["virtual_s"] + begun)
    assert found[-1]["bytes"] >= 0.9 * links * rate * found[-1]["virtual_s"]
    assert [row["bytes"] for row in found] == sorted(row["bytes"] for row in found)
