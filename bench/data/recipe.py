"""Recipes: datasets that are downloaded once, verified by a checksum, and then memory-mapped.

A recipe names the sources of the raw files, and the sha256 of the arrays that they become. The arrays have the same
bytes whatever the source. They lie in the data folder as prepared/<name>/train_x.npy and so on. The ranks of a machine
map them and share one copy.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from bench.base.errors import UserError
from bench.base.registry import recipes
from bench.terminal.console import Console
from bench.terminal.display import showing_growth

PREPARED = "prepared"
"""The subfolder of the data folder for prepared arrays. Other files in the data folder belong to the user."""
PARTS = ("train_x", "train_y", "test_x", "test_y")
SEAL = "seal.json"
FOLDER = "HEARSAY_DATA"
"""Environment variable with the data folder."""

Parts = Mapping[str, np.ndarray]


class NotHere(Exception):
    """A source is not available on this machine. The message is the reason, without a full stop."""


class Source(Protocol):
    """A source of raw data, such as those in bench/data/sources.py."""

    @property
    def title(self) -> str:
        """The name of the source in messages."""

    @property
    def remote(self) -> bool:
        """Whether the source downloads, so that progress is shown."""

    def get(self, folder: Path, scratch: Path) -> Parts:
        """Return ``train_x``, ``train_y``, ``test_x`` and ``test_y``; raise ``NotHere`` if they are not available.

        Args:
            folder: The data folder, where the user may have put raw files. It is only read.
            scratch: An empty folder for temporary files.
        """


@dataclass(frozen=True)
class Recipe:
    """How to fetch a dataset, the argument ``recipe`` of ``@dataset``.

    Attributes:
        sources: The sources, tried in this order.
        sha256: The checksum of the arrays, as ``checksum`` computes it; None if it is not known.
        check: Raises ``NotHere`` if the arrays cannot be those of the dataset.
        help: What to do if no source is available, for the error message.

    Example:
        >>> @dataset("mine", Recipe((Dropped(("mine.npz",), read),), sha256=None))
        ... def mine(parts: Parts) -> Arrays:
        ...     return Arrays.of(parts, classes=10)
    """

    sources: tuple[Source, ...]
    sha256: str | None
    check: Callable[[Parts], None] = lambda parts: None
    help: str = ""


def data_folder(given: Path | str | None = None) -> Path:
    """Return the data folder: ``data_dir``, or the environment variable HEARSAY_DATA, or the user's cache.

    Raises:
        UserError: It is in a home directory, and there is none, as for some users of containers.
    """
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    folder = Path(given or os.environ.get(FOLDER) or f"{cache}/hearsay")
    try:
        return folder.expanduser().resolve()
    except RuntimeError:
        raise UserError(
            f"The data folder '{folder}' is in a home directory that does not exist. Set data_dir=FOLDER, or the "
            f"environment variable {FOLDER}, to the path of another folder."
        ) from None


def checksum(parts: Parts) -> str:
    """Return the sha256 of the arrays, over names, types, shapes and bytes."""
    digest = hashlib.sha256()
    for name in PARTS:
        array = np.ascontiguousarray(parts[name])
        digest.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        digest.update(array.data.cast("B"))
    return digest.hexdigest()


def load(name: str, folder: Path) -> Parts:
    """Return the prepared arrays, memory-mapped.

    Raises:
        UserError: They are missing, unreadable or wrong.
    """
    place = folder / PREPARED / name
    try:
        parts = {part: np.load(place / f"{part}.npy", mmap_mode="c", allow_pickle=False) for part in PARTS}
    except FileNotFoundError:
        raise UserError(f"dataset={name} is not in {folder}. Run: python bench/fetch.py {name}") from None
    except (OSError, ValueError) as error:
        raise UserError(f"Cannot read {place} ({error}). To replace it, run: python bench/fetch.py {name}") from None
    recipe = recipes[name]
    try:
        recipe.check(parts)
        if recipe.sha256 is not None and not _sealed(place, parts, recipe.sha256) and checksum(parts) != recipe.sha256:
            raise NotHere("its checksum is wrong")
    except NotHere as reason:
        raise UserError(
            f"{place} is not {name}: {reason}. To replace it, run: python bench/fetch.py {name}"
        ) from reason
    return parts


def _seal(parts: Parts, sha256: str) -> dict[str, object]:
    """Return the checksums that are stored with verified arrays; crc32 is eight times as fast as sha256."""
    sums = {}
    for name in PARTS:
        array = np.ascontiguousarray(parts[name])
        sums[name] = zlib.crc32(array.data.cast("B"), zlib.crc32(f"{array.dtype.str} {array.shape}".encode()))
    return {"sha256": sha256, "crc32": sums}


def _sealed(place: Path, parts: Parts, sha256: str) -> bool:
    """Return whether the arrays are unchanged since their sha256 was verified; False if that is unknown."""
    try:
        return bool(json.loads((place / SEAL).read_bytes()) == _seal(parts, sha256))
    except (OSError, ValueError):
        return False


def prepare(name: str, folder: Path, console: Console) -> Parts:
    """Return the prepared arrays, and fetch them if needed. One process fetches; others wait.

    Raises:
        UserError: No source is available, or the data folder is not writable.
    """
    try:
        return load(name, folder)
    except UserError as error:
        trouble = str(error)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with alone(folder / f".{name}.lock"):
            try:
                return load(name, folder)  # made by another process while this one waited
            except UserError:
                if (folder / PREPARED / name).exists():
                    console.print(trouble, markup=False)
            with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=folder) as scratch:
                fetch(name, folder, Path(scratch), console)
                return load(name, folder)
    except OSError as error:
        raise UserError(f"Cannot write {name} to the data folder {folder}: {error.strerror or error}.") from error


def fetch(name: str, folder: Path, scratch: Path, console: Console) -> None:
    """Fetch a dataset from the first source with the right arrays, into the data folder in one atomic move."""
    recipe = recipes[name]
    reasons = []
    for source in recipe.sources:
        raw = scratch / "raw"
        raw.mkdir()
        try:
            with showing_growth(console, f"{name}: trying {source.title}", raw) if source.remote else nullcontext():
                parts = source.get(folder, raw)
            recipe.check(parts)
            found = checksum(parts)
            if recipe.sha256 not in (None, found):
                raise NotHere(f"wrong data: sha256 {found[:12]}… instead of {recipe.sha256[:12]}…")
        except NotHere as reason:
            reasons.append(f"{source.title}: {reason}")
            shutil.rmtree(raw)
            continue
        made = scratch / name
        made.mkdir()
        for part in PARTS:
            np.save(made / f"{part}.npy", np.ascontiguousarray(parts[part]), allow_pickle=False)
        (made / SEAL).write_text(json.dumps(_seal(parts, found)))
        place = folder / PREPARED / name
        place.parent.mkdir(exist_ok=True)
        if place.exists():
            place.rename(scratch / "replaced")
        made.rename(place)
        size = sum(part.nbytes for part in parts.values()) / 1e6
        console.print(f"{name}: {size:.1f} MB from {source.title}, now in {place}", markup=False)
        return
    raise UserError("\n  ".join([f"dataset={name} is not available from any source.", *reasons, recipe.help]).rstrip())


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on the file ``path``."""
    with path.open("a") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield
