"""Mistakes that an author of an asynchronous method, or of the engine, can make."""

from bench.base.registry import algorithms
from bench.training.events import Events

ADPSGD, SWIFT, OSGP, RASGP, SONATA, ACID = (
    algorithms[name] for name in ("adpsgd", "swift", "osgp", "rasgp", "asy_sonata", "acid")
)


class WrongPartner(ADPSGD):
    """Averages with the node after the partner."""

    def on_pair(self, s, one, other):
        wrong = (slice(None), slice((other.i + 1) % s.x.shape[1], (other.i + 1) % s.x.shape[1] + 1))
        mean = (s.x[one.at] + s.x[wrong]) / 2
        s.x[one.at], s.x[other.at] = mean, mean


class OneSided(ADPSGD):
    """The partner keeps its model."""

    def on_pair(self, s, one, other):
        s.x[one.at] = (s.x[one.at] + s.x[other.at]) / 2


class FirstReplica(ADPSGD):
    """All replicas have the stepsize of the first."""

    def on_gradient(self, s, node, g):
        s.x[node.at] -= self.eta[node.t][:1] * g


class WrongNeighbor(SWIFT):
    """Keeps what it hears in the place of its first sender."""

    def on_message(self, s, node, sender, *received):
        (s.heard[node.heard(node.senders[0])],) = received


class Peeks(SWIFT):
    """Reads the neighbors' models instead of their messages."""

    def on_gradient(self, s, node, g):
        node.send(s.x[node.at])
        s.heard[node.at] = self.graph.per_sender(s.x)[node.at]
        s.x[node.at] = node.average(s.x[node.at], s.heard[node.at]) - self.eta[node.t] * g


class SendsNew(SWIFT):
    """Sends the model after the step; sound, but another method."""

    def on_gradient(self, s, node, g):
        s.x[node.at] = node.average(s.x[node.at], s.heard[node.at]) - self.eta[node.t] * g
        node.send(s.x[node.at])


class SendsTwice(SWIFT):
    """Sends two messages after a gradient."""

    def on_gradient(self, s, node, g):
        node.send(s.x[node.at])
        super().on_gradient(s, node, g)


class Forwards(SWIFT):
    """Sends on what it hears."""

    def on_message(self, s, node, sender, *received):
        super().on_message(s, node, sender, *received)
        node.send(*received)


class SendsMore(SWIFT):
    """Sends a number that it does not declare."""

    def on_gradient(self, s, node, g):
        node.send(s.x[node.at], s.x[node.at][..., :1])


class Silent(SWIFT):
    """Never sends."""

    def on_gradient(self, s, node, g):
        s.x[node.at] -= self.eta[node.t] * g


class Remembers(SWIFT):
    """Keeps the last gradient outside the state."""

    last = None

    def on_gradient(self, s, node, g):
        before = g if self.last is None else self.last
        self.last = g.clone()
        super().on_gradient(s, node, (g + before) / 2)


class MovesOthers(SWIFT):
    """Changes the models of all nodes."""

    def on_gradient(self, s, node, g):
        super().on_gradient(s, node, g)
        s.x.sub_(1e-3 * self.eta[node.t] * g)


class LosesArrived(OSGP):
    """Forgets the mass that has arrived since the last gradient."""

    def on_message(self, s, node, sender, *received):
        s.r[node.at], s.q[node.at] = received


class KeepsTooMuch(OSGP):
    """Keeps what it sends."""

    def on_gradient(self, s, node, g):
        u, w = s.u[node.at].clone(), s.w[node.at].clone()
        super().on_gradient(s, node, g)
        s.u[node.at] += u / 9
        s.w[node.at] += w / 9


class MassWithoutWeight(RASGP):
    """Splits the mass and keeps the weight."""

    def on_gradient(self, s, node, g):
        w = s.w[node.at].clone()
        super().on_gradient(s, node, g)
        s.w[node.at] += w / 2


class NoSums(RASGP):
    """Sends the share instead of the running sum: nothing lost is recovered."""

    def on_gradient(self, s, node, g):
        s.sent_u[node.at], s.sent_w[node.at], s.used_u[node.at], s.used_w[node.at] = 0, 0, 0, 0
        super().on_gradient(s, node, g)
        s.heard_u[node.at], s.heard_w[node.at] = 0, 0


class NoElapsedTime(RASGP):
    """A step of one length, whatever the time since the last."""

    def on_gradient(self, s, node, g):
        super().on_gradient(s, node, g / node.since)


class TakesAgain(SONATA):
    """Takes in the same shares again and again."""

    def on_gradient(self, s, node, g):
        used = s.used[node.at].clone()
        super().on_gradient(s, node, g)
        s.used[node.at] = used


class NoTracking(SONATA):
    """Steps along its own gradient."""

    def on_gradient(self, s, node, g):
        super().on_gradient(s, node, g)
        s.z[node.at] = g


class LateRelaxation(ACID):
    """Hears the other model before it is relaxed, as the release: the sum of the two is not kept."""

    def on_pair(self, s, one, other):
        heard = s.x[other.at].clone(), s.x[one.at].clone()
        for node, x in zip((one, other), heard, strict=True):
            s.x[node.at], s.y[node.at] = self._relaxed(s, node)
            m = s.x[node.at] - x
            s.x[node.at] -= m / 2
            s.y[node.at] -= self._constants[1] * m


class OneSidedMomentum(ACID):
    """Only one of the two changes its momentum."""

    def on_pair(self, s, one, other):
        y = s.y[other.at].clone()
        super().on_pair(s, one, other)
        s.y[other.at] = y


METHODS = [
    *(WrongPartner, OneSided, FirstReplica, WrongNeighbor, Peeks, SendsNew, SendsTwice, Forwards, SendsMore, Silent),
    *(Remembers, MovesOthers, LosesArrived, KeepsTooMuch, MassWithoutWeight, NoSums, NoElapsedTime, TakesAgain),
    *(NoTracking, LateRelaxation, OneSidedMomentum),
]
"""Wrong methods, each a subclass of the right one."""


class EndPoint(Events):
    """Computes gradients where the nodes are when they end."""

    def play(self, state, t):
        self._now = state
        return super().play(state, t)

    def _gradient(self, i):
        self._begun[:] = self._now.x
        self._known[:] = False
        return super()._gradient(i)


class OtherSample(Events):
    """Uses the sample before the right one."""

    def _gradient(self, i):
        self._numbers[i] = max(0, self._numbers[i] - 1)
        self._known[i] = False
        return super()._gradient(i)


class AtOnce(Events):
    """Delivers messages when they are sent."""

    def play(self, state, t):
        self._now = state
        return super().play(state, t)

    def _post(self, node, tensors):
        for receiver in node.receivers:
            self._method.on_message(self._now, self._nodes[receiver], node.i, *(each.clone() for each in tensors))

    def _take(self, sender, number):
        return None


class NextMessage(Events):
    """Delivers the newest message of the sender instead of the one that arrives."""

    def _take(self, sender, number):
        newest = max((k for j, k in self._under_way if j == sender), default=number)
        found = self._under_way.get((sender, newest))
        taken = super()._take(sender, number)
        return taken if found is None else found


ENGINES = [
    *((EndPoint, name) for name in ("adpsgd", "acid")),
    *((OtherSample, name) for name in ("adpsgd", "swift", "osgp", "rasgp", "asy_sonata", "acid")),
    *((AtOnce, name) for name in ("swift", "osgp", "rasgp", "asy_sonata")),
    *((NextMessage, name) for name in ("swift", "rasgp", "asy_sonata")),
]
"""Wrong engines, with the methods that must notice them."""
