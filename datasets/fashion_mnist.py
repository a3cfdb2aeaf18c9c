"""Fashion-MNIST: articles of clothing, in the format of MNIST."""

from bench.data.recipe import Parts, Recipe
from bench.data.sources import apt, deb_member
from bench.problem import Arrays, dataset
from datasets.idx_images import dropped, from_members, openml

RECIPE = Recipe(
    sources=(
        dropped,
        openml(40996),
        apt(
            "dataset-fashion-mnist",
            "39e172fe32dd318ebb3e512220c3beea2fa47d7e20bab348fb4e0922d6beefc0",
            from_members(deb_member, "./usr/share/datasets/fashion-mnist/", ".gz"),
        ),
    ),
    sha256="832a11e25dda61bba4e9b4fec9c6697fb4d7cc8972e735acf92d2cc9e89c8bf9",
    help="Put the four idx files (train-images-idx3-ubyte.gz and so on) into a data folder of their own.",
)


@dataset("fashion_mnist", RECIPE)
def fashion_mnist(parts: Parts) -> Arrays:
    """60000 training and 10000 test images of Xiao, Rasul and Vollgraf (2017); mean and sd of the training set."""
    return Arrays.of(parts, classes=10, mean=255 * 0.2860, sd=255 * 0.3530)
