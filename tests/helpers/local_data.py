"""A plug-in with datasets whose one source is a file on this machine: HEARSAY_PLUGINS=tests.helpers.local_data"""

import os
import time
from pathlib import Path

import numpy as np

from bench.data.recipe import NotHere, Parts, Recipe, checksum
from bench.problem.problem import dataset
from bench.problem.supervised import Arrays


def parts(size: int = 90) -> Parts:
    x = np.arange(size * 4, dtype=np.uint8).reshape(size, 4)
    y = (np.arange(size) % 3).astype(np.uint8)
    return {"train_x": x, "train_y": y, "test_x": x[:10], "test_y": y[:10]}


class Slow:
    """Takes a while, and notes in a file that it was asked."""

    title = "the slow source"
    remote = True

    def get(self, folder: Path, scratch: Path) -> Parts:
        diary = os.environ.get("HEARSAY_TEST_DIARY")
        if diary is None:
            raise NotHere("no diary to write to")
        with Path(diary).open("a") as stream:
            stream.write("asked\n")
        time.sleep(0.5)
        return parts()


@dataset("slow", Recipe((Slow(),), checksum(parts()), help="Be patient."))
def slow(prepared: Parts) -> Arrays:
    return Arrays.of(prepared, classes=3)


@dataset("big", Recipe((Slow(),), None))
def big(prepared: Parts) -> Arrays:
    return Arrays.of(prepared, classes=3)
