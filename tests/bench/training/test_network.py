"""Runs on directed, changing, lossy and compressed networks: invariants, costs, replicas, resuming."""

import numpy as np
import pytest
import torch

from bench.base.errors import UserError
from bench.base.registry import algorithms
from bench.build.build import build_algorithm, build_compressor, build_problem
from bench.build.network import mixing_of, properties_of
from bench.config.run_config import parse
from bench.contracts.simulate import simulate
from bench.engine import stacked
from bench.method import algorithm
from bench.method.trajectory import trajectory
from bench.problem.problem import Setting
from bench.training import checkpoint
from bench.training.checkpoint import Resume
from bench.training.costs import CostCounter, Stopwatch
from bench.training.hosting import OneProcess
from bench.training.mixers import make_mixer
from bench.training.network import Network, make_oracles
from bench.training.observer import Observer
from bench.training.running_sums import SEEN, SENT
from tests.helpers.configs import Kept, config, rows
from tests.helpers.few import few

CPU = torch.device("cpu")
LOSSY = {"name": "lossy", "p": 0.3}
DIGRAPH = {"name": "random_digraph", "p": 0.5}
ONE_WAY = {"name": "one_way", "p": 0.3}
CASES = {
    "push": {"algo": "sgp", "topology": DIGRAPH},
    "push and pull": {"algo": "push_pull", "topology": DIGRAPH},
    "matching": {"topology": "matching"},
    "drawn": {"algo": "dsgt", "topology": "random_each_round"},
    "lossy": {"links": LOSSY},
    "outages": {"algo": "dsgt", "links": {"name": "outages", "p": 0.1}},
    "one way": {"algo": "push_diging", "topology": DIGRAPH, "links": ONE_WAY},
    "compressed": {"algo": "choco", "compressor": {"name": "qsgd", "levels": 4}},
    "random_k": {"algo": "choco", "compressor": {"name": "random_k", "fraction": 0.3}},
}


def states(c, steps=None):
    """Yield the states of a run in one process, with its mixer and costs."""
    mixing = mixing_of(c)
    problem = build_problem(c, Setting(c.nodes, range(c.nodes), (c.seed,), c.batch_size, torch.float64, CPU))
    hosting, costs = OneProcess(c.nodes, make_mixer([mixing], torch.float64, CPU)), CostCounter(problem, [mixing])
    compressor = build_compressor(c, problem.layout.size)
    network = Network(hosting, properties_of(c), costs, Stopwatch(1), (c.seed,), compressor, mixing.one_way)
    grad, mix = make_oracles(problem, network, costs)
    with torch.no_grad():
        for t, state in trajectory(build_algorithm([c], problem), problem.start(), grad, mix, steps or c.steps):
            network.step = t
            yield state, hosting.mixer, costs


OUTAGES = {"name": "outages", "p": 0.1}
TRACKERS = [(name, links) for name in ("dsgt", "dnasa", "dasagt") for links in (LOSSY, OUTAGES)]


@pytest.mark.parametrize(("name", "links"), few(TRACKERS, [("dsgt", LOSSY), ("dnasa", OUTAGES)]))
def test_trackers_keep_their_sum_under_packet_loss(name, links):
    """The mean of the tracker is the mean of the tracked state."""
    c = config(algo=name, dataset="quadratics", links=links, steps=500)
    for state, _, _ in states(c):
        last = state
    (tracker, tracked), *_ = properties_of(c).tracks.items()
    off = getattr(last, tracker).mean(1) - getattr(last, tracked).mean(1)
    assert off.abs().max() < 1e-12 * max(1.0, getattr(last, tracked).abs().max())


def test_zero_fill_breaks_the_tracker():
    c = config(algo="dsgt", dataset="quadratics", links={**LOSSY, "semantics": "zero_fill"}, steps=300)
    for state, _, _ in states(c):
        last = state
    assert (last.u.mean(1) - last.v.mean(1)).abs().max() > 1e-2


def literal_running_sums(x, a, arrives, seen, sent):
    """One round, arc by arc."""
    n = len(x)
    out = np.diag(a)[:, None] * x
    for i in range(n):
        for j in range(n):
            if i != j and a[i, j]:
                sent[i, j] = sent[i, j] + a[i, j] * x[j]
                if arrives[i, j]:
                    out[i] += sent[i, j] - seen[i, j]
                    seen[i, j] = sent[i, j]
    return out


def test_running_sums_follow_their_rule_and_conserve_mass():
    c = config(algo="sgp", topology=DIGRAPH, links=ONE_WAY, nodes=6)
    mixing = mixing_of(c)
    mixer = make_mixer([mixing], torch.float64, CPU)
    a, heard = mixing.at(0).push.dense(), mixing.heard
    x = np.random.default_rng(1).normal(size=(6, 3))
    w = np.ones((6, 1))
    total, z = x.sum(axis=0), np.concatenate([x, w], axis=1)
    seen, sent = np.zeros((6, 6, 4)), np.zeros((6, 6, 4))
    got = torch.as_tensor(x)[None], torch.as_tensor(w)[None]
    lost = 0
    for t in range(400):
        arrives = np.zeros((6, 6), dtype=bool)
        arrives[heard.rows[heard.off], heard.columns[heard.off]] = mixing.delivered(t)
        lost += 1 - mixing.delivered(t).mean()
        z = literal_running_sums(z, a, arrives, seen, sent)
        got = mixer(t, t, got, "push")
        assert torch.cat(got, dim=-1)[0].numpy() == pytest.approx(z, abs=1e-12)
        kept = mixer.kept()
        under_way = sum(kept[f"{side}0"].sum((1, 2))[0] * sign for side, sign in ((SENT, 1), (SEEN, -1)))
        assert (got[0][0].sum(0) + under_way[:3]).numpy() == pytest.approx(total, abs=1e-11)
    assert lost / 400 == pytest.approx(0.3, abs=0.03)
    assert (got[0] / got[1])[0].numpy() == pytest.approx(np.tile(x.mean(axis=0), (6, 1)), abs=1e-9)  # push-sum, exact


def test_lost_mass_biases_push_sum():
    """Zeros replace lost messages; there are no running sums."""
    c = config(algo="sgp", topology=DIGRAPH, links={**LOSSY, "semantics": "zero_fill"}, nodes=6)
    mixer = make_mixer([mixing_of(c)], torch.float64, CPU)
    x = torch.as_tensor(np.random.default_rng(1).normal(size=(1, 6, 3)))
    u, w = x, torch.ones(1, 6, 1, dtype=torch.float64)
    for t in range(100):
        u, w = mixer(t, t, (u, w), "push")
    assert ((u / w).mean(1) - x.mean(1)).abs().max() > 1e-2


@pytest.mark.parametrize("case", CASES)
def test_replicas_equal_separate_runs(case):
    """Each replica has its own draws, packet loss and payloads."""
    alone = [config(seed=seed, steps=20, **CASES[case]) for seed in (0, 1, 2)]
    for together, (single,) in zip(rows(*alone), (rows(c) for c in alone), strict=True):
        for one, other in zip(together, single, strict=True):
            for name in ("train_loss", "grad_norm", "consensus"):
                assert one[name] == pytest.approx(other[name], rel=1e-9, abs=1e-15)
            for name in ("bytes", "scalars_sent", "rounds", "vectors_sent"):
                assert one[name] == other[name]


class Keeps(Observer):
    """Checkpoints of one run, and its rows."""

    def __init__(self, folder, nodes):
        self.folder, self.nodes, self.rows = folder, nodes, []

    def record(self, r, row):
        self.rows.append(row)

    def checkpoint(self, r, moment):
        checkpoint.write(self.folder, moment, range(self.nodes))


@pytest.mark.parametrize("case", CASES)
def test_a_resumed_run_equals_an_uninterrupted_one(tmp_path, case):
    c = config(steps=30, eval_every=5, checkpoint_every=10, **CASES[case])
    whole = Keeps(tmp_path / "checkpoint", c.nodes)
    stacked.run([c], whole)
    assert checkpoint.steps(whole.folder, c.nodes) == [20, 10]
    for step in (10, 20):
        before = [row for row in whole.rows if row["step"] <= step]
        rest = Kept()
        stacked.run([c], rest, Resume(step, [whole.folder], before[-1:]))
        after = [row for row in whole.rows if row["step"] > step]
        timeless = [{k: v for k, v in row.items() if not k.endswith("_s")} for row in (*rest.rows[0], *after)]
        assert timeless[: len(after)] == timeless[len(after) :]  # bit for bit


def test_bytes_are_those_of_the_payload():
    """P = 10, float64, 8 nodes in a ring: 16 messages a round."""
    for compressor, size in (
        ("none", 80),
        ({"name": "top_k", "k": 3}, 3 * 8 + 2),  # three places of four bits
        ({"name": "random_k", "k": 3}, 3 * 8),
        ({"name": "qsgd", "levels": 4}, 8 + 5),  # nine values need four bits
        ("sign", 8 + 2),
    ):
        (measured,) = rows(config(algo="choco", nodes=8, steps=7, compressor=compressor))
        assert measured[-1]["bytes"] == 7 * 16 * size
        assert measured[-1]["scalars_sent"] == 7 * 16 * 10  # that were spoken of


def test_random_k_draws_differ_between_nodes_and_rounds():
    """random_k with k = 1 of 10: one coordinate a round, in the end every one."""
    c = config(algo="choco", nodes=6, steps=80, compressor={"name": "random_k", "k": 1})
    known = [state.h[0] != 0 for state, _, _ in states(c)]
    first = known[2]  # η is 0 in the first step, and the start is 0
    assert first.sum(1).tolist() == [1] * 6
    assert len({tuple(row.tolist()) for row in first}) > 1
    assert known[-1].sum() > 55  # of 60: each is missed with probability 0.9^80


@pytest.mark.parametrize("name", ["random_k", "qsgd"])
def test_simulate_compresses_as_a_run_does(name):
    """DoCoM sends two compressed vectors a round, and one uncompressed vector before."""
    c = config(algo="docom", nodes=6, steps=8, compressor=name)
    problem = build_problem(c, Setting(c.nodes, range(c.nodes), (c.seed,), c.batch_size, torch.float64, CPU))
    w, made = torch.as_tensor(mixing_of(c).matrices[0]), build_compressor(c, problem.layout.size)
    given = {"seeds": [c.seed], "layout": problem.layout, "compressor": made}
    trace = simulate(algorithms["docom"], w, problem.grad, problem.start(), c.steps, c.algo.options, **given)
    ran = torch.stack([state.h for state, _, _ in states(c)])
    assert torch.allclose(torch.stack([state.h for state in trace.states]), ran, rtol=1e-12, atol=1e-12)
    assert ran[-1].abs().max() > 1e-3


def test_choco_uncompressed_is_dsgd():
    """γ = 1 and C the identity: X½ + (W − I)(H + X½ − H) = W X½."""
    (plain,), (choco,) = (rows(config(algo=algo)) for algo in ("dsgd", {"name": "choco", "gamma": 1.0}))
    assert [row["train_loss"] for row in choco] == pytest.approx([row["train_loss"] for row in plain], rel=1e-12)


def test_a_method_may_only_do_what_it_declares(monkeypatch):
    monkeypatch.setattr(algorithms, "_items", dict(algorithms._items))

    @algorithm("sneaks", vectors_per_step=1, cite="nobody")
    class Sneaks(algorithms["dsgd"]):
        def step(self, s, t, grad, mix):
            return s._replace(x=mix.push(s.x)[0])

    @algorithm("packs", vectors_per_step=1, cite="nobody")
    class Packs(algorithms["dsgd"]):
        def step(self, s, t, grad, mix):
            return s._replace(x=mix.compressed(s.x)[0][1])

    @algorithm("early", vectors_per_step=1, cite="nobody", mixes="push", start_rounds=1)
    class Early(algorithms["sgp"]):
        def start(self, x, grad, mix):
            return super().start(mix.push(x)[0], grad, mix)

    for name, links, offense in (
        ("sneaks", "reliable", r"sneaks .*mix\.push .*'doubly'.*'push'"),
        ("packs", "reliable", r"packs .*mix\.compressed .*'contractive'"),
        ("early", ONE_WAY, r"early .*links=one_way"),
    ):
        with pytest.raises(UserError, match=offense):
            rows(config(algo=name, links=links))


def test_neutral_networks_do_not_change_the_run_id():
    plain = {k: v for k, v in config().plain().items() if k not in ("links", "compressor")}
    assert parse(plain).run_id == config().run_id
    assert config(links={"name": "lossy", "p": 0.0}).run_id != config().run_id
    lossless, reliable = rows(config(links={"name": "lossy", "p": 0.0}))[0], rows(config())[0]
    assert [row["train_loss"] for row in lossless] == pytest.approx([row["train_loss"] for row in reliable], rel=1e-12)
