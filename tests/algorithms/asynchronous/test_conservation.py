"""What asynchronous methods keep: means, mass under way, and reductions to methods in step."""

import math

import numpy as np
import pytest

from bench.base.registry import algorithms
from bench.contracts.play import Pace, play
from bench.network.mixing import build_mixing
from tests.algorithms.asynchronous.mutants import KeepsTooMuch, LosesArrived, MassWithoutWeight, OneSided, TakesAgain
from tests.algorithms.asynchronous.worlds import START, G, N, T, gradient, start
from tests.algorithms.literal.asynchronous import DELIVER, GRADIENT, PAIR, acid_constants

A = 0.05
FIXED = {"schedule": "constant", "eta": A}
LATE = Pace(delay=1.7, seed=3)
LOSSY = Pace(delay=1.7, drop=0.3, seed=3)
ONE_WAY = Pace("directed_ring", delay=0.8, seed=4)


class Ledger:
    """A run, and what all gradients together have subtracted before every event."""

    def __init__(self, cls, pace, options=None):
        self.run = play(cls, gradient, start(nodes=pace.nodes), T, {**FIXED, **(options or {})}, pace)
        self.acts = [e for e in self.run.events if e.kind != DELIVER]
        self.arcs = list(zip(*(each.tolist() for each in (pace.graph().source, pace.graph().target)), strict=True))
        self.senders = pace.graph().senders

    def of(self, field):
        """A field of the first replica after every gradient and pair."""
        return np.stack([getattr(state, field)[0].numpy() for state in self.run.states])

    def steps(self, scaled=False):
        """Σ a g over the gradients so far; with ``scaled``, times the time since the last gradient of the node."""
        X, began, last = self.of("x"), dict(enumerate(START)), {}
        out, total = [np.zeros(X.shape[-1])], np.zeros(X.shape[-1])
        for place, e in enumerate(self.acts):
            if e.kind == GRADIENT:
                since = (e.time - last.get(e.node, 0)) / self.run.tape.unit if scaled else 1.0
                total = total + A * since * G(e.node, began[e.node], e.number)
                began[e.node], last[e.node] = X[place + 1, e.node], e.time
            out.append(total)
        return np.stack(out)

    def between(self, sent, used):
        """Σ over arcs of the sums that were sent and not taken in."""
        S, U = self.of(sent), self.of(used)
        return sum(S[:, j] - U[:, i, self.senders[i].index(j)] for j, i in self.arcs)

    def under_way(self, field):
        """Σ of the messages that are sent and not delivered: what is left of a field after the sender's gradient."""
        values, flying, out, place = self.of(field), {}, [0.0], 0
        for e in self.run.events:
            if e.kind == DELIVER:
                del flying[e.peer, e.node, e.number]
                continue
            place += 1
            flying |= {(e.node, i, e.number): values[place, e.node] for j, i in self.arcs if j == e.node}
            out.append(sum(flying.values()))
        return np.stack([np.broadcast_to(each, values.shape[2:]) for each in out])


def off(ours, wanted):
    assert len(ours) > 20
    return np.abs(ours - wanted).max()


def push_sum(cls, pace):
    """By how much the mass and the weight of OSGP are wrong."""
    led = Ledger(cls, pace)
    mass = led.of("u").sum(1) + led.of("r").sum(1) + led.under_way("u")
    weight = led.of("w").sum(1) + led.of("q").sum(1) + led.under_way("w")
    return off(mass, START[: pace.nodes].sum(0) - led.steps()), off(weight, pace.nodes)


def running_sums(cls, pace):
    """By how much the mass and the weight of RASGP are wrong."""
    led = Ledger(cls, pace)
    mass = led.of("u").sum(1) + led.between("sent_u", "used_u")
    weight = led.of("w").sum(1) + led.between("sent_w", "used_w")
    return off(mass, START[: pace.nodes].sum(0) - led.steps(scaled=True)), off(weight, pace.nodes)


def tracked(cls, pace):
    """By how much Σ z and what is between the nodes differ from the sum of the last gradients."""
    led = Ledger(cls, pace)
    return off(led.of("z").sum(1) + led.between("sent", "used"), led.of("g").sum(1))


@pytest.mark.parametrize("pace", [LATE, Pace("star", nodes=5)])
def test_the_mean_of_adpsgd_moves_by_gradients_only(pace):
    led = Ledger(algorithms["adpsgd"], pace)
    wanted = START[: pace.nodes].sum(0) - led.steps()
    assert off(led.of("x").sum(1), wanted) <= 1e-12
    assert off(Ledger(OneSided, pace).of("x").sum(1), wanted) > 1e-3


@pytest.mark.parametrize("options", [{}, {"accelerate": False}, {"rate": 4}])
def test_the_mean_of_acid_moves_by_gradients_only(options):
    led = Ledger(algorithms["acid"], LATE, options)
    X, Y, steps = led.of("x"), led.of("y"), led.steps()
    wanted = START[:N].sum(0) - steps
    assert off((X + Y).sum(1) / 2, wanted) <= 1e-12
    eta = 0.0 if options.get("accelerate") is False else acid_constants(N, led.arcs, options.get("rate", 1))[0]
    last = np.zeros(N)
    for place, e in enumerate(led.acts):  # x alone, if all nodes are relaxed until the same time
        now = e.time / led.run.tape.unit
        last[[e.node, e.peer] if e.kind == PAIR else [e.node]] = now
        share = (1 - np.exp(-2 * eta * (now - last)))[:, None] / 2
        relaxed = X[place + 1] + share * (Y[place + 1] - X[place + 1])
        np.testing.assert_allclose(relaxed.sum(0), wanted[place + 1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("pace", [LATE, ONE_WAY])
def test_osgp_keeps_mass_and_weight(pace):
    assert max(push_sum(algorithms["osgp"], pace)) <= 1e-12
    for cls in (LosesArrived, KeepsTooMuch):
        assert max(push_sum(cls, LATE)) > 1e-2


@pytest.mark.parametrize("pace", [LATE, LOSSY, ONE_WAY])
def test_rasgp_keeps_mass_and_weight_also_with_loss(pace):
    assert max(running_sums(algorithms["rasgp"], pace)) <= 1e-12
    assert max(running_sums(MassWithoutWeight, pace)) > 1e-2


@pytest.mark.parametrize("pace", [LATE, LOSSY])
def test_asy_sonata_tracks_the_last_gradients_also_with_loss(pace):
    assert tracked(algorithms["asy_sonata"], pace) <= 1e-12
    assert tracked(TakesAgain, pace) > 1e-2


EQUAL = Pace(slow=1, jitter=0, delay=0.6)


def in_step(name, options=None):
    """x after 0, 1, …, T steps of all nodes."""
    run = play(algorithms[name], gradient, start(), T, {**FIXED, **(options or {})}, EQUAL)
    return np.stack([state.x[0].numpy() for _, state, _ in run.ends])


def Gs(X, k):
    return np.stack([G(i, X[i], k) for i in range(N)])


def test_swift_at_equal_speeds_hears_its_neighbors_one_step_late():
    W = build_mixing("ring", N).matrices[0]
    own, others = np.diag(np.diag(W)), W - np.diag(np.diag(W))
    X, before = [START[:N]], START[:N]
    for k in range(T):
        X.append(own @ X[-1] + others @ before - A * Gs(X[-1], k))
        before = X[-2]
    assert np.abs(in_step("swift") - np.stack(X)).max() <= 1e-14


def test_osgp_at_equal_speeds_is_push_sum_one_step_late():
    share = np.eye(N) / 3
    others = (np.roll(np.eye(N), 1, 0) + np.roll(np.eye(N), -1, 0)) / 3
    U, w, R, q = START[:N], np.ones((N, 1)), np.zeros_like(START[:N]), np.zeros((N, 1))
    X = []
    for k in range(T + 1):
        U, w = U + R, w + q
        R, q, U, w = others @ U, others @ w, share @ U, share @ w
        X.append(U / w)
        U = U - A * Gs(U / w, k)
    assert np.abs(in_step("osgp") - np.stack(X)).max() <= 1e-13


def test_acid_without_acceleration_averages_pairs():
    led = Ledger(algorithms["acid"], LATE, {"accelerate": False})
    X, began, ours = START[:N].copy(), START[:N].copy(), led.of("x")
    assert math.isclose(np.abs(ours - led.of("y")).max(), 0, abs_tol=1e-14)
    for place, e in enumerate(led.acts):
        if e.kind == PAIR:
            X[[e.node, e.peer]] = (X[e.node] + X[e.peer]) / 2
        else:
            X[e.node] -= A * G(e.node, began[e.node], e.number)
            began[e.node] = X[e.node]
        np.testing.assert_allclose(ours[place + 1], X, rtol=0, atol=1e-13)
