"""MiniBooNE: electron neutrinos (signal) or muon neutrinos (background) from 50 measurements of each event."""

import io
from pathlib import Path
from typing import Any

import numpy as np

from bench.data.recipe import NotHere, Parts, Recipe
from bench.data.sources import Dropped, OpenML, unzipped
from bench.problem import Arrays, dataset
from datasets.standardized import divided

SIGNAL, BACKGROUND, FEATURES, TRAIN = 36499, 93565, 50, 100000


def prepared(x: np.ndarray, signal: np.ndarray) -> Parts:
    """The first 100000 of the shuffled rows are training rows; −999 marks a missing measurement."""
    return divided("miniboone", x, signal, len(x) * TRAIN // (SIGNAL + BACKGROUND), FEATURES, missing=-999.0)


def from_uci(path: Path) -> Parts:
    """Read a line with the numbers of signal and background events, then the events in that order."""
    with path.open(encoding="ascii") as stream:
        counts = [int(word) for word in stream.readline().split()]
        if len(counts) != 2:
            raise ValueError("the first line must have two counts")
        x = np.loadtxt(stream, dtype=np.float64, ndmin=2)
    if x.shape != (sum(counts), FEATURES):
        raise ValueError(f"the file has {x.shape[0]}×{x.shape[1]} numbers, expected {sum(counts)}×{FEATURES}")
    return prepared(x, np.arange(len(x)) < counts[0])


def from_arff(path: Path) -> Parts:
    """Read the file of OpenML: 50 features and the target signal, in the order of its header."""
    from scipy.io.arff import loadarff  # slow to import

    table, header = loadarff(io.StringIO(unzipped(path.read_bytes()).decode()))
    features = [name for name in header.names() if name != "signal"]
    if len(features) != FEATURES or len(header.names()) != FEATURES + 1:
        raise ValueError(f"not an ARFF file with {FEATURES} features and a target called signal")
    return prepared(np.stack([table[name] for name in features], axis=1), table["signal"] == b"True")


def from_openml(data: Any, target: Any) -> Parts:
    words = np.char.lower(np.asarray(target).astype(str))
    if not np.isin(words, ("true", "false", "1", "0")).all():
        raise ValueError("a target is neither True nor False")
    return prepared(np.asarray(data, dtype=np.float64), np.isin(words, ("true", "1")))


def check(parts: Parts) -> None:
    """Reject data of another shape or with another number of signal events."""
    shapes = parts["train_x"].shape, parts["test_x"].shape
    wanted = (TRAIN, FEATURES), (SIGNAL + BACKGROUND - TRAIN, FEATURES)
    if shapes != wanted:
        raise NotHere(f"training and test parts have shapes {shapes}, MiniBooNE has {wanted}")
    signal = int(parts["train_y"].sum(dtype=int) + parts["test_y"].sum(dtype=int))
    if signal != SIGNAL:
        raise NotHere(f"{signal} signal events, MiniBooNE has {SIGNAL}")


RECIPE = Recipe(
    sources=(
        Dropped(("MiniBooNE_PID.txt",), from_uci),
        Dropped(("*[Bb]oo[Nn]*.arff*",), from_arff),
        OpenML(41150, from_openml),
    ),
    sha256=None,
    check=check,
    help="Put UCI's MiniBooNE_PID.txt, or OpenML's MiniBooNE.arff (dataset 41150), into the data folder.",
)


@dataset("miniboone", RECIPE)
def miniboone(parts: Parts) -> Arrays:
    """100000 training and 30064 test events; class 1 is the signal."""
    return Arrays.of(parts, classes=2)
