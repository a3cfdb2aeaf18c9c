"""Trainable tensors that a module does not register."""

import torch
from torch import Tensor, nn

from bench.models.trainable import unregistered


class Slope(nn.Linear):
    """Its outputs are the gradient of |Wx + b|² by x, which needs a leaf of its own in each call."""

    def forward(self, x: Tensor) -> Tensor:
        with torch.enable_grad():
            point = x.detach().requires_grad_()
            slope: Tensor = torch.autograd.grad(super().forward(point).square().sum(), point, create_graph=True)[0]
        return slope


class Given(nn.Module):
    """Returns a tensor as it is."""

    def __init__(self) -> None:
        super().__init__()
        self.values = [torch.ones(3, requires_grad=True)]

    def forward(self, x: Tensor) -> Tensor:
        return self.values[0]


def test_a_leaf_of_forward_itself_is_accepted():
    x = torch.randn(2, 4)
    assert Slope(4, 3).requires_grad_(False)(x).requires_grad
    assert unregistered(lambda: Slope(4, 3), x) is None


def test_an_output_may_be_the_tensor_itself():
    made = Given()
    assert unregistered(lambda: made, torch.randn(2, 4)) is made.values[0]


def test_layers_of_torch_register_all_tensors():
    x = torch.randn(2, 5, 4)
    for make in (
        lambda: torch.nn.utils.parametrizations.weight_norm(nn.Linear(4, 3)),
        lambda: torch.nn.utils.parametrizations.spectral_norm(nn.Linear(4, 3)),
        lambda: nn.TransformerEncoderLayer(4, 2, 8, batch_first=True),
    ):
        assert unregistered(make, x) is None
