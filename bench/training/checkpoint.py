"""Checkpoints: one file per process with the state of its nodes, which any number of processes can read.

<run>/checkpoint/<step>.<first node>-<last node>.npz holds plain arrays, never pickles, followed by a digest of the
names of run and file, of the id of the run's start from step 0, and of the content. The id tells the files of a process
that was paused while another one started the run again. No file is interpreted before its digest is checked. hearsay
keeps the last two steps, and the last step that the disk has confirmed.
"""

from __future__ import annotations

import hashlib
import io
import re
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from bench.base import npy
from bench.base.errors import Misfit, UserError
from bench.base.machine import check_memory
from bench.store.disk import Pace
from bench.store.files import FOREIGN
from bench.store.integrity import read_file
from bench.store.record import Row
from bench.store.regular import CHUNK, content_of, make_folder, opened, write_bytes
from bench.training.costs import SENT, SHARED, Stopwatch, reported, shared_counts
from bench.training.observer import Snapshot
from bench.training.running_sums import CHANNEL

KEEP = 2
SECONDS, COUNTS = "seconds", "counts"
NAME = re.compile(r"(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)-(0|[1-9][0-9]*)\.npz")
SEAL = b"\nsha256 "
LARGEST = 1 << 36
"""The largest file that is read, in bytes."""
MOST_COUNTS, LARGEST_COUNT = 1 << 16, 1 << 62
"""Limits on the counts of a checkpoint. A sum of two counts below the second fits into 64 bits."""
pace = Pace()
_lasting: dict[Path, int] = {}  # the last step that the disk has confirmed, by folder


@dataclass(frozen=True)
class Resume:
    """The step to resume from, with the folder and the latest row of every replica."""

    step: int
    folders: Sequence[Path]
    rows: Sequence[Row]


def write(
    folder: Path,
    moment: Snapshot,
    hosted: range,
    check: Callable[[], None] = lambda: None,
    start: str | None = None,
) -> None:
    """Write the hosted nodes of one replica; delete all but the last two steps.

    ``check`` is as in ``write_bytes``; ``start`` is the id of the start, by default the one in the manifest.
    """
    arrays = {name: tensor[0].cpu().numpy() for name, tensor in {**moment.state, **moment.in_flight}.items()}
    arrays[SECONDS] = np.array([moment.seconds[0][name] for name in Stopwatch.NAMES])
    arrays[COUNTS] = moment.counts[0]
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    make_folder(folder)
    span = f"{hosted.start}-{hosted.stop - 1}.npz"
    path = folder / f"{moment.step}.{span}"
    write_bytes(path, buffer.getvalue() + _seal(_names(path, start), buffer.getvalue()), check)
    if pace.wait(moment.step, path):
        _lasting[folder] = moment.step
    for old in sorted(_files(folder, f"*.{span}"), key=_numbers)[:-KEEP]:
        if _numbers(old)[0] != _lasting.get(folder):
            old.unlink()


def steps(folder: Path, nodes: int) -> list[int]:
    """Return the steps with a valid checkpoint of every node, the latest first."""
    held: dict[int, set[int]] = {}
    shapes: dict[int, set[str]] = {}
    for path in _files(folder):
        step, first, last = _numbers(path)
        if last < nodes and (file := arrays(path)) is not None and COUNTS in file:
            held.setdefault(step, set()).update(range(first, last + 1))
            shapes.setdefault(step, set()).add(str({name: (a.shape[1:], a.dtype) for name, a in file.items()}))
    whole = [step for step, there in held.items() if there == set(range(nodes)) and len(shapes[step]) == 1]
    return sorted(whole, reverse=True)


def load(resume: Resume, hosted: range, dtype: torch.dtype, device: torch.device) -> Snapshot:
    """Return the snapshot of the hosted nodes of all replicas; raise Misfit if the files are inconsistent."""
    try:
        parts = [_read(folder, resume.step, hosted) for folder in resume.folders]
        first, names = parts[0], [name for name in parts[0] if name not in (SECONDS, COUNTS)]
        for part, row in zip(parts, resume.rows, strict=True):
            _check_counts(part[COUNTS], row if row.get("step") == resume.step else {})
            # the replicas of a group share some counts and the names of its arrays
            if part.keys() != first.keys() or not np.array_equal(
                shared_counts(part[COUNTS]), shared_counts(first[COUNTS])
            ):
                raise ValueError(f"the runs of a group differ in their arrays or in {', '.join(SHARED)}")
        stacked = {name: np.stack([part[name] for part in parts]) for name in names}
        held = {name: torch.as_tensor(array, dtype=dtype, device=device) for name, array in stacked.items()}
    except (LookupError, TypeError, ValueError) as error:
        raise Misfit(f"The files of the checkpoint at step {resume.step} are inconsistent: {error}.") from error
    in_flight = {name: held.pop(name) for name in names if name.startswith(CHANNEL)}
    seconds = [dict(zip(Stopwatch.NAMES, part[SECONDS].tolist(), strict=True)) for part in parts]
    return Snapshot(resume.step, held, seconds, list(resume.rows), [part[COUNTS] for part in parts], in_flight)


def _check_counts(counts: np.ndarray, row: Row) -> None:
    """Raise ValueError unless these are counts of a run, equal to those in its row of the same step, if any."""
    if counts.ndim != 1 or counts.dtype != np.int64 or not len(SHARED) + len(SENT) <= len(counts) <= MOST_COUNTS:
        raise ValueError(f"{COUNTS} must be whole numbers, got {counts.dtype} of shape {counts.shape}")
    known = counts[: len(SHARED) + len(SENT)]
    if known.min() < 0 or counts.min() < -1 or counts.max() >= LARGEST_COUNT:
        raise ValueError(f"{COUNTS} must be between 0 and {LARGEST_COUNT}, got {counts[:20].tolist()}")
    if row and (wrong := [name for name, count in reported(known).items() if row.get(name) != count]):
        raise ValueError(f"{COUNTS} differ from the row of the same step in {', '.join(wrong)}")


def forget(folder: Path, step: int) -> None:
    """Delete the checkpoint of a step."""
    for path in _files(folder, f"{step}.*.npz"):
        path.unlink()


def forget_after(folder: Path, step: int) -> None:
    """Delete the checkpoints after a step: ``write`` keeps the highest steps, and would delete new files instead."""
    for path in _files(folder):
        if _numbers(path)[0] > step:
            path.unlink()


def damage(folder: Path) -> dict[str, str]:
    """Return the damaged files, with the reason."""
    return {path.name: FOREIGN for path in _files(folder) if arrays(path) is None}


def _read(folder: Path, step: int, hosted: range) -> Mapping[str, np.ndarray]:
    """Return the rows of the hosted nodes, from all files that have some."""
    found: dict[str, dict[int, np.ndarray]] = {}
    seconds, counts = np.zeros(len(Stopwatch.NAMES)), np.zeros(0, dtype=np.int64)
    for path in _files(folder, f"{step}.*.npz"):
        if (file := arrays(path)) is None:
            raise UserError(f"The checkpoint '{path}' is damaged. Run the command again to use an earlier one.")
        seconds, counts = np.maximum(seconds, file.pop(SECONDS)), file.pop(COUNTS)
        for name, rows in file.items():
            found.setdefault(name, {}).update({_numbers(path)[1] + i: row for i, row in enumerate(rows)})
    states = {name: np.stack([rows[i] for i in hosted]) for name, rows in found.items()}
    return {**states, SECONDS: seconds, COUNTS: counts}


def arrays(path: Path) -> dict[str, np.ndarray] | None:
    """Return the arrays of a file, one row per node, and its seconds; None if the file is damaged."""
    try:
        if not _is_sealed(path) or not _is_archive(body := content_of(path, LARGEST).rpartition(SEAL)[0]):
            return None
    except (OSError, MemoryError):
        return None
    try:
        with np.load(io.BytesIO(body), allow_pickle=False) as file:
            found = {name: file[name] for name in file.files}
        if any(array.dtype.kind not in "biuf" for array in found.values()):
            return None
    except Exception:  # the digest of a forged file may match, and NumPy may raise anything
        return None
    _, first, last = _numbers(path)
    fits = all(array.shape[:1] == (last + 1 - first,) for name, array in found.items() if name not in (SECONDS, COUNTS))
    return found if fits and SECONDS in found and found[SECONDS].shape == (len(Stopwatch.NAMES),) else None


def start_of(folder: Path) -> str:
    """Return the id of the run's last start from step 0; empty for runs of earlier versions, which have none."""
    return str(read_file(folder.parent, "manifest.json").get("start", ""))


def _names(path: Path, start: str | None = None) -> str:
    """Return the names of the run and of the file, and the id of the start."""
    return f"{path.parents[1].name}/{path.name}{start_of(path.parent) if start is None else start}"


def _seal(name: str, body: bytes) -> bytes:
    return _sealed_by(hashlib.sha256(name.encode() + body).hexdigest())


def _sealed_by(digest: str) -> bytes:
    return SEAL + digest.encode() + b"\n"


def _is_archive(body: bytes) -> bool:
    """Whether this has a directory of arrays that do not expand. A forged directory may be as large as the file."""
    if body.count(npy.ENTRY) > npy.ENTRIES:  # before the directory takes memory and time
        return False
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            parts = archive.infolist()
    except Exception:  # the directory of a forged file may be anything
        return False
    # hearsay never compresses, so that a forged file could grow without bound, and its arrays do not overlap
    stored = all(part.compress_type == zipfile.ZIP_STORED for part in parts)
    return stored and sum(part.file_size for part in parts) <= len(body)


def _is_sealed(path: Path) -> bool:
    """Whether a file ends with its digest. Reads it in pieces.

    Raises:
        UserError: It ends like one, and is too large for the memory.
    """
    descriptor, size = opened(path)
    with open(descriptor, "rb") as file:  # noqa: PTH123
        if (left := size - len(_seal("", b""))) <= 0 or size > LARGEST:
            return False
        file.seek(left)
        if not (seal := file.read()).startswith(SEAL):
            return False
        check_memory(2 * size, f"The checkpoint '{path}'", "delete it, or run with more memory")
        file.seek(0)
        sha = hashlib.sha256(_names(path).encode())
        while left > 0 and (part := file.read(min(left, CHUNK))):
            sha.update(part)
            left -= len(part)
        return seal == _sealed_by(sha.hexdigest())


def _files(folder: Path, pattern: str = "*.npz") -> list[Path]:
    """Return the files with a checkpoint's name; none if the folder is a link."""
    return [] if folder.is_symlink() else [path for path in folder.glob(pattern) if NAME.fullmatch(path.name)]


def _numbers(path: Path) -> tuple[int, int, int]:
    """Return the step, the first node and the last node in a file's name."""
    step, first, last = map(int, path.name.removesuffix(".npz").replace("-", ".").split("."))
    return step, first, last
