import numpy as np
import pytest
import torch

from bench.network.mixing import Mixing, build_mixing
from bench.training.mixers import DenseMixer, SparseMixer, make_mixer

CPU = torch.device("cpu")
MIXERS = {"dense": DenseMixer, "sparse": SparseMixer}


@pytest.mark.parametrize("topology", ["ring", "random", "ladder", "complete", "one_peer_exponential", "star"])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_mixing_is_w_times_x_and_preserves_the_mean(topology, kind):
    mixing = build_mixing(topology, 8)
    mixer = MIXERS[kind]([mixing] * 3, torch.float64, CPU)
    x, y = torch.randn(3, 8, 7, dtype=torch.float64), torch.randn(3, 8, 1, dtype=torch.float64)
    for round_number in range(4):
        w = mixing.matrices[round_number % mixing.period]
        for before, after in zip((x, y), mixer(round_number, 0, (x, y)), strict=True):
            for r in range(3):
                assert after[r].numpy() == pytest.approx(w @ before[r].numpy(), abs=1e-14)
            assert torch.allclose(after.mean(1), before.mean(1), rtol=0, atol=1e-14)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_node_i_applies_row_i_of_w(kind):
    """A doubly stochastic W that is not symmetric: node i hears node i + 1 with ½ and node i − 1 with ¼."""
    own = np.eye(8)
    w = own / 4 + np.roll(own, 1, axis=1) / 2 + np.roll(own, -1, axis=1) / 4
    mixing = Mixing(w[None], "one way more than the other")
    mixer = MIXERS[kind]([mixing], torch.float64, CPU)
    said = torch.zeros(1, 8, 1, dtype=torch.float64)
    said[0, 3] = 1.0
    (heard,) = mixer(0, 0, (said,))
    assert heard[0, :, 0].tolist() == [0, 0, 0.5, 0.25, 0.25, 0, 0, 0]


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_push_keeps_the_sum_and_pull_keeps_constants(kind):
    mixing = build_mixing("random_digraph", 8)
    mixer = MIXERS[kind]([mixing], torch.float64, CPU)
    x, ones = torch.randn(1, 8, 3, dtype=torch.float64), torch.ones(1, 8, 3, dtype=torch.float64)
    (pushed,), (pulled,) = mixer(0, 0, (x,), "push"), mixer(0, 0, (ones,), "pull")
    assert torch.allclose(pushed.sum(1), x.sum(1), rtol=0, atol=1e-14)
    assert torch.allclose(pulled, ones, rtol=0, atol=1e-14)
    assert not torch.allclose(mixer(0, 0, (ones,), "push")[0], ones)  # the graph tells the two apart
    assert not torch.allclose(mixer(0, 0, (x,), "pull")[0].sum(1), x.sum(1))


def test_replicas_may_have_graphs_of_their_own():
    mixings = [build_mixing("ring", 8), build_mixing("complete", 8)]
    x = torch.randn(2, 8, 3, dtype=torch.float64)
    (mixed,) = make_mixer(mixings, torch.float64, CPU)(0, 0, (x,))
    for r, mixing in enumerate(mixings):
        assert mixed[r].numpy() == pytest.approx(mixing.matrices[0] @ x[r].numpy(), abs=1e-14)


def test_large_sparse_graphs_are_mixed_edge_by_edge():
    for name, expected in (("ring", SparseMixer), ("torus", SparseMixer), ("complete", DenseMixer)):
        mixings = [build_mixing(name, 64)] * 2
        mixer = make_mixer(mixings, torch.float64, CPU)
        assert type(mixer) is expected
        x = torch.randn(2, 64, 5, dtype=torch.float64)
        (mixed,) = mixer(0, 0, (x,))
        assert torch.allclose(mixed, DenseMixer(mixings, torch.float64, CPU)(0, 0, (x,))[0], atol=1e-14)
    assert type(make_mixer([build_mixing("ring", 32)], torch.float64, CPU)) is DenseMixer
