"""Products of many small matrices, by NumPy and by torch."""

import pytest
import torch

from bench.models import products
from bench.models.products import MANY, SMALL, affine, product


@pytest.fixture
def numpy_calls(monkeypatch):
    """The shapes that NumPy multiplies; torch has no MKL and one thread."""
    calls = []
    matmul = products.np.matmul

    def watched(a, b, out):
        calls.append(a.shape)
        return matmul(a, b, out=out)

    monkeypatch.setattr(products.np, "matmul", watched)
    monkeypatch.setattr(products, "MKL", False)
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield calls
    torch.set_num_threads(before)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_numpy_and_torch_agree(numpy_calls, dtype):
    x = torch.randn(MANY, 5 * 7 + 7 + 1, dtype=dtype)
    inputs, weight, bias = torch.randn(MANY, 3, 5, dtype=dtype), x[:, :35].view(-1, 5, 7), x[:, 35:42]
    close = {"rtol": 1e-5, "atol": 1e-5} if dtype == torch.float32 else {"rtol": 1e-13, "atol": 1e-13}
    assert torch.allclose(affine(inputs, weight, bias), torch.baddbmm(bias.unsqueeze(1), inputs, weight), **close)
    delta = torch.randn(MANY, 3, 7, dtype=dtype)
    gradient = torch.full_like(x, 3.0)
    assert product(inputs.mT, delta, out=gradient[:, :35].view(-1, 5, 7)).shape == (MANY, 5, 7)
    assert torch.allclose(gradient[:, :35].view(-1, 5, 7), torch.bmm(inputs.mT, delta), **close)
    assert (gradient[:, 35:] == 3).all()  # only the view is written
    assert torch.allclose(product(delta, weight.mT), torch.bmm(delta, weight.mT), **close)
    assert numpy_calls == [(MANY, 3, 5), (MANY, 5, 3), (MANY, 3, 7)]


@pytest.mark.parametrize("shape", [(MANY - 1, 2, 2), (MANY, 2, SMALL // 4 + 1)])
def test_torch_multiplies_few_or_large_matrices(numpy_calls, shape):
    a, b = torch.ones(shape), torch.ones(shape[0], shape[2], 2)
    assert (product(a, b) == shape[2]).all()
    assert numpy_calls == []


def test_torch_multiplies_with_several_threads(numpy_calls):
    torch.set_num_threads(2)
    product(torch.ones(MANY, 2, 2), torch.ones(MANY, 2, 2))
    assert numpy_calls == []
