"""Sources of MNIST and Fashion-MNIST: four idx files, 60000 and 10000 images of 28×28 bytes."""

from collections.abc import Callable
from pathlib import Path

from bench.data.recipe import Parts
from bench.data.sources import Dropped, OpenML, idx

FILES = {
    "train_x": "train-images-idx3-ubyte",
    "train_y": "train-labels-idx1-ubyte",
    "test_x": "t10k-images-idx3-ubyte",
    "test_y": "t10k-labels-idx1-ubyte",
}


def from_members(read: Callable[[Path, str], bytes], prefix: str, suffix: str = "") -> Callable[[Path], Parts]:
    """A reader of archives with the four files."""
    return lambda archive: {part: idx(read(archive, f"{prefix}{file}{suffix}")) for part, file in FILES.items()}


def _from_files(*files: Path) -> Parts:
    return {part: idx(file.read_bytes()) for part, file in zip(FILES, files, strict=True)}


def _from_openml(data: object, target: object) -> Parts:
    import numpy as np

    x = np.asarray(data).astype(np.uint8).reshape(-1, 28, 28)
    y = np.asarray(target).astype(np.uint8)
    return {"train_x": x[:60000], "train_y": y[:60000], "test_x": x[60000:], "test_y": y[60000:]}


dropped = Dropped(tuple(f"{file}*" for file in FILES.values()), _from_files)


def openml(number: int) -> OpenML:
    return OpenML(number, _from_openml)
