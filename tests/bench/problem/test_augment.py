"""Flips and crops, one image at a time."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from bench.base.randomness import generator
from bench.base.registry import losses, models
from bench.build.material import load_arrays
from bench.problem.augment import augmented, drawn
from bench.problem.problem import Setting
from bench.problem.supervised import Supervised
from tests.helpers.configs import config

PIXELS = 2


def literal(image: np.ndarray, flip: int, down: int, right: int) -> np.ndarray:
    """Mirrored or not, in a frame of zeros, and a window of that."""
    turned = image[..., ::-1] if flip else image
    around = [(0, 0)] * (image.ndim - 2) + [(PIXELS, PIXELS)] * 2
    framed = np.pad(turned, around)
    return framed[..., down : down + image.shape[-2], right : right + image.shape[-1]]


@pytest.mark.parametrize("shape", [(5, 7), (3, 6, 4)])
def test_images_are_flipped_and_shifted_as_drawn(shape):
    g = np.random.default_rng(0)
    images = g.integers(1, 255, (4, 6, *shape)).astype(np.uint8)
    draws = g.integers([0, 0, 0], [2, 2 * PIXELS + 1, 2 * PIXELS + 1], size=(4, 6, 3))
    found = augmented(torch.as_tensor(images), torch.as_tensor(draws), PIXELS)
    for i in range(4):
        for j in range(6):
            assert np.array_equal(found[i, j], literal(images[i, j], *draws[i, j]))


def test_every_flip_and_shift_is_drawn_and_keyed():
    some = drawn(3, 1, 0, 5, 40, PIXELS)
    assert np.array_equal(some, drawn(3, 1, 0, 5, 40, PIXELS))
    assert {tuple(row) for row in some.reshape(-1, 3)} == {
        (f, d, r) for f in (0, 1) for d in range(5) for r in range(5)
    }
    for other in ((4, 1, 0, 5), (3, 2, 0, 5), (3, 1, 1, 5), (3, 1, 0, 6)):
        assert not np.array_equal(some, drawn(*other, 40, PIXELS))


@pytest.mark.parametrize("gather", [0, 1 << 24])
def test_mini_batches_are_changed_and_evaluations_are_not(gather, monkeypatch):
    monkeypatch.setattr("bench.problem.supervised.GATHER", gather)
    plain = load_arrays(config(dataset="digits"))
    arrays = replace(plain, crops=PIXELS)
    shards = [np.array_split(np.arange(len(plain.train_y)), 3)]
    setting = Setting(3, range(1, 3), (7,), 4, torch.float64, torch.device("cpu"))
    model, loss = models["linear"]((8, 8), 10), losses["usual"](arrays)
    f, without = (Supervised(setting, a, shards, model, loss, "shared", "replacement") for a in (arrays, plain))
    x = 0.1 * torch.randn(1, 2, model.layout.size, dtype=torch.float64)
    found = f.grad(x, 70, 1)
    for k, node in enumerate(setting.hosted):
        rows = shards[0][node][generator(7, node, "batch 1", 1).integers(len(shards[0][node]), size=(64, 4))[6]]
        images = [
            literal(plain.train_x[row], *how) for row, how in zip(rows, drawn(7, node, 1, 1, 4, PIXELS)[6], strict=True)
        ]
        inputs = torch.as_tensor((np.stack(images).astype(float) - plain.mean) / plain.sd)
        out, pull = model.linearize(x[:, k], inputs[None])
        expected = pull(loss.delta(out, torch.as_tensor(plain.train_y[rows])[None], 1 / 4))
        assert torch.allclose(found[:, k], expected, rtol=1e-11, atol=1e-14)
    assert torch.equal(f.evaluate(x.mean(1)).flat(), without.evaluate(x.mean(1)).flat())
