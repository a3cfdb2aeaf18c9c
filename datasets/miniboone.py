"""MiniBooNE: electron neutrinos (signal) or muon neutrinos (background)? 50 measurements of each event."""

import gzip
import math
from pathlib import Path
from typing import Any

import numpy as np

from bench.base.randomness import EVERYONE, generator
from bench.data.recipe import NotHere, Parts, Recipe
from bench.data.sources import Dropped, OpenML
from bench.problem import Arrays, dataset

SIGNAL, BACKGROUND, FEATURES, TRAIN = 36499, 93565, 50, 100000
MISSING = -999.0


def prepared(x: np.ndarray, signal: np.ndarray) -> Parts:
    """Split and standardised, the same from every source.

    Rows are sorted and then shuffled by a fixed key, because sources need not have one order; the first
    100000 are for training. −999 stands for a measurement that is missing: means and deviations are those
    of the training rows without it, and in its place comes the mean, 0. Sums are exact, so that the
    arrays are the same bytes on every machine.
    """
    order = np.lexsort((signal, *x.T[::-1]))
    order = order[generator(0, EVERYONE, "miniboone split").permutation(len(x))]
    x, signal = x[order].astype(np.float64), signal[order]
    train = len(x) * TRAIN // (SIGNAL + BACKGROUND)
    known = x != MISSING
    for column in range(x.shape[1]):
        values = x[:train, column][known[:train, column]]
        mean = math.fsum(values) / len(values)
        sd = math.sqrt(math.fsum((values - mean) ** 2) / len(values)) or 1.0
        x[:, column] = np.where(known[:, column], (x[:, column] - mean) / sd, 0.0)
    x, y = x.astype(np.float32), signal.astype(np.uint8)
    return {"train_x": x[:train], "train_y": y[:train], "test_x": x[train:], "test_y": y[train:]}


def from_uci(path: Path) -> Parts:
    """A line with the numbers of signal and background events, then the events in that order."""
    with path.open(encoding="ascii") as stream:
        counts = [int(word) for word in stream.readline().split()]
        if len(counts) != 2:
            raise ValueError("the first line does not hold two counts")
        x = np.loadtxt(stream, dtype=np.float64, ndmin=2)
    if x.shape != (sum(counts), FEATURES):
        raise ValueError(f"{x.shape[0]}×{x.shape[1]} numbers where {sum(counts)}×{FEATURES} were announced")
    return prepared(x, np.arange(len(x)) < counts[0])


def from_arff(path: Path) -> Parts:
    """OpenML's file: a header, then lines of 50 numbers and the target signal, in the order of the header."""
    raw = path.read_bytes()
    lines = (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode().splitlines()
    words = [line.split() for line in lines]
    names = [w[1].strip("'\"").lower() for w in words if w and w[0].lower() == "@attribute"]
    begin = next((i for i, w in enumerate(words) if w and w[0].lower() == "@data"), None)
    if begin is None or len(names) != FEATURES + 1 or "signal" not in names:
        raise ValueError(f"not an ARFF file with {FEATURES} features and a target called signal")
    table = [line.split(",") for line in lines[begin + 1 :] if line.strip() and not line.startswith("%")]
    if any(len(row) != len(names) for row in table):
        raise ValueError(f"a line without {len(names)} values")
    target = names.index("signal")
    signal = np.array([_truth(row.pop(target)) for row in table])
    return prepared(np.array(table, dtype=np.float64), signal)


def from_openml(data: Any, target: Any) -> Parts:
    return prepared(np.asarray(data, dtype=np.float64), np.array([_truth(value) for value in target]))


def _truth(word: Any) -> bool:
    text = str(word).strip().strip("'\"").lower()
    if text not in ("true", "false", "1", "0"):
        raise ValueError(f"a target {word!r} that is neither True nor False")
    return text in ("true", "1")


def check(parts: Parts) -> None:
    """Nobody may call anything else MiniBooNE."""
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
