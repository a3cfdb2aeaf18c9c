"""Letter recognition: 26 capitals from 16 integers (0 to 15) that describe a distorted image."""

import numpy as np

from bench.data.recipe import Parts, Recipe
from bench.data.sources import Dropped
from bench.problem import Arrays, dataset
from datasets.keel import keel, uci
from datasets.standardized import divided

TRAIN = 16000


def prepared(x: np.ndarray, classes: list[str]) -> Parts:
    """Four fifths are training rows; class 0 is A."""
    return divided("letter", x, np.array([ord(letter) - ord("A") for letter in classes]), TRAIN, scaled=16)


RECIPE = Recipe(
    sources=(Dropped(("letter-recognition.data",), uci(0, prepared)), keel("letter", prepared)),
    sha256="bb3b7e4d18d4c7fe76f5400857da57882ff5de2981ec4b6523001a1238449661",
    help="Put UCI's letter-recognition.data into the data folder.",
)


@dataset("letter", RECIPE)
def letter(parts: Parts) -> Arrays:
    """16000 training and 4000 test images of Frey and Slate (1991)."""
    return Arrays.of(parts, classes=26)
