"""MAGIC gamma telescope: gamma rays (signal) or hadrons (background) from 10 measurements of a shower."""

import numpy as np

from bench.data.recipe import Parts, Recipe
from bench.data.sources import Dropped
from bench.problem import Arrays, dataset
from datasets.keel import keel, uci
from datasets.standardized import divided

TRAIN = 15216


def prepared(x: np.ndarray, classes: list[str]) -> Parts:
    """Four fifths are training rows; class 1 is the gamma ray."""
    return divided("magic", x, np.array(classes) == "g", TRAIN, scaled=10)


RECIPE = Recipe(
    sources=(Dropped(("magic04.data",), uci(-1, prepared)), keel("magic", prepared)),
    sha256="9fbf7f82d51a7547d3a65c835afa8f027283800e84362a66ed8dbdc8d755c140",
    help="Put UCI's magic04.data into the data folder.",
)


@dataset("magic", RECIPE)
def magic(parts: Parts) -> Arrays:
    """15216 training and 3804 test showers, 12332 in total from gamma rays."""
    return Arrays.of(parts, classes=2)
