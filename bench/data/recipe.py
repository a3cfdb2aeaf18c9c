"""Data that is fetched once, checked against a known sum, and then mapped into memory by whoever needs it.

A dataset that cannot be made on the spot comes with a recipe: where its raw files can be had, and the
sha256 of the arrays they must become. Whatever the source, the arrays are the same bytes. They lie in
the data folder as prepared/<name>/train_x.npy and so on; ranks map them and so share one copy.
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
from bench.terminal.progress import showing_growth

PREPARED = "prepared"
"""The part of the data folder that is ours; what lies beside it is the user's."""
PARTS = ("train_x", "train_y", "test_x", "test_y")
SEAL = "seal.json"
FOLDER = "HEARSAY_DATA"
"""Environment variable with the data folder."""

Parts = Mapping[str, np.ndarray]


class NotHere(Exception):
    """A source has nothing to offer on this machine: a reason, without a full stop."""


class Source(Protocol):
    """One way to get raw data."""

    @property
    def title(self) -> str: ...

    @property
    def remote(self) -> bool:
        """Whether one waits for it."""

    def get(self, folder: Path, scratch: Path) -> Parts:
        """The four arrays, using ``scratch`` for files; NotHere if this source cannot be had.

        ``folder`` is the data folder, where the user may have put raw files; it is only read.
        """


@dataclass(frozen=True)
class Recipe:
    """How to get a dataset, the first source that answers, and what it must be."""

    sources: tuple[Source, ...]
    sha256: str | None  # of the arrays; None where nobody has been able to pin it, and ``check`` must do
    check: Callable[[Parts], None] = lambda parts: None  # NotHere if these cannot be the arrays
    help: str = ""  # what to do where no source answers


def data_folder(given: Path | str | None = None) -> Path:
    """``data_dir``, or the environment's HEARSAY_DATA, or the user's cache."""
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(given or os.environ.get(FOLDER) or f"{cache}/hearsay").expanduser().resolve()


def checksum(parts: Parts) -> str:
    """sha256 over names, types, shapes and bytes."""
    digest = hashlib.sha256()
    for name in PARTS:
        array = np.ascontiguousarray(parts[name])
        digest.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        digest.update(array.data.cast("B"))
    return digest.hexdigest()


def load(name: str, folder: Path) -> Parts:
    """The prepared arrays, mapped from disk. UserError where there are none that can be trusted."""
    place = folder / PREPARED / name
    try:
        parts = {part: np.load(place / f"{part}.npy", mmap_mode="c", allow_pickle=False) for part in PARTS}
    except FileNotFoundError:
        raise UserError(f"dataset={name} is not in {folder}; python bench/fetch.py {name} gets it.") from None
    except (OSError, ValueError) as error:
        raise UserError(f"{place} cannot be read ({error}); python bench/fetch.py {name} repairs it.") from None
    recipe = recipes[name]
    try:
        recipe.check(parts)
        if recipe.sha256 is not None and not _sealed(place, parts, recipe.sha256) and checksum(parts) != recipe.sha256:
            raise NotHere("its checksum is wrong")
    except NotHere as reason:
        raise UserError(f"{place} is not {name}: {reason}; python bench/fetch.py {name} replaces it.") from reason
    return parts


def _seal(parts: Parts, sha256: str) -> dict[str, object]:
    """What is kept beside arrays that had the right sha256: a sum that is eight times as fast and shows damage too."""
    sums = {}
    for name in PARTS:
        array = np.ascontiguousarray(parts[name])
        sums[name] = zlib.crc32(array.data.cast("B"), zlib.crc32(f"{array.dtype.str} {array.shape}".encode()))
    return {"sha256": sha256, "crc32": sums}


def _sealed(place: Path, parts: Parts, sha256: str) -> bool:
    """Whether these are the bytes that were there when the sha256 was right; where it is unknown, ask that again."""
    try:
        told = json.loads((place / SEAL).read_bytes())
    except (OSError, ValueError):
        return False
    return bool(told == _seal(parts, sha256))


def prepare(name: str, folder: Path, console: Console) -> Parts:
    """The prepared arrays, fetched if need be. One process at a time; others wait and find them made."""
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
    """From the first source that gives the right arrays, into the data folder in one move."""
    recipe = recipes[name]
    reasons = []
    for source in recipe.sources:
        raw = scratch / "raw"
        raw.mkdir()
        try:
            with showing_growth(console, f"{name}: asking {source.title}", raw) if source.remote else nullcontext():
                parts = source.get(folder, raw)
            recipe.check(parts)
            found = checksum(parts)
            if recipe.sha256 not in (None, found):
                raise NotHere(f"what it gives is not {name}: sha256 {found[:12]}… instead of {recipe.sha256[:12]}…")
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
    raise UserError("\n  ".join([f"dataset={name} could not be had from any source.", *reasons, recipe.help]).rstrip())


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Until no other process holds ``path``."""
    with path.open("a") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield
