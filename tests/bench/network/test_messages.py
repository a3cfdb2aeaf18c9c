"""The messages of a round: sender, receiver and loss, as the matrices of the round have them."""

import numpy as np
import pytest

from bench.base.registry import links
from bench.network.drawn import build_network
from bench.network.sparse import Messages


@pytest.mark.parametrize("name", ["ring", "directed_ring", "one_peer_exponential", "matching", "random_each_round"])
def test_messages_are_the_entries_of_the_matrix(name):
    network = build_network(name, 8, {}, 3)
    for r in (0, 1, 2, 17, 40, 5):
        sent, expected = network.messages(r), Messages.of(network.at(r).any)
        assert sent.source.tolist() == expected.source.tolist()
        assert sent.target.tolist() == expected.target.tolist()
        assert network.bill(r)[0] == np.count_nonzero(sent.source != sent.target)
        assert (np.diff(sent.target) >= 0).all()


@pytest.mark.parametrize("kind", ["lossy", "outages"])
@pytest.mark.parametrize("name", ["ring", "matching"])
def test_lost_messages_have_no_weight(name, kind):
    under = build_network(name, 8, {}, 3)
    network = links[kind](p=0.3).over(under, 3)
    lost = 0
    for t in range(20):
        sent, w = network.messages(t, t), network.at(t, t).any.dense()
        assert sent.lost is not None
        assert ((w[sent.target, sent.source] == 0) == sent.lost).all()
        lost += sent.lost.sum()
    assert lost > 0


def test_messages_lost_without_notice():
    network = links["one_way"](p=0.3).over(build_network("directed_ring", 8, {}, 3), 3)
    sent = network.messages(4, 4)
    assert sent.lost is not None
    arrives = ~sent.lost[sent.source != sent.target]
    assert (arrives == network.delivered(4)).all()
    assert not arrives.all()
