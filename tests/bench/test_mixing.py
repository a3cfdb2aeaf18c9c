import pytest
import torch

from bench.certificate import build_mixing
from bench.mixing import DenseMixer

CPU = torch.device("cpu")


@pytest.mark.parametrize("topology", ["ring", "random", "ladder", "complete"])
def test_mixing_is_w_times_x_and_preserves_the_mean(topology):
    mixing = build_mixing(topology, 8)
    x, y = torch.randn(3, 8, 7, dtype=torch.float64), torch.randn(3, 8, 1, dtype=torch.float64)
    mixed = DenseMixer([mixing] * 3, torch.float64, CPU)(0, (x, y))
    for before, after in zip((x, y), mixed, strict=True):
        for r in range(3):
            assert after[r].numpy() == pytest.approx(mixing.matrices[0] @ before[r].numpy(), abs=1e-14)
        assert torch.allclose(after.mean(1), before.mean(1), rtol=0, atol=1e-14)


def test_replicas_may_have_graphs_of_their_own():
    mixings = [build_mixing("ring", 8), build_mixing("complete", 8)]
    x = torch.randn(2, 8, 3, dtype=torch.float64)
    (mixed,) = DenseMixer(mixings, torch.float64, CPU)(0, (x,))
    for r, mixing in enumerate(mixings):
        assert mixed[r].numpy() == pytest.approx(mixing.matrices[0] @ x[r].numpy(), abs=1e-14)
