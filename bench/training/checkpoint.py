"""Where a run stood, on disk: a file per process with the state of its nodes, readable by any number of processes.

<run>/checkpoint/<step>.<first node>-<last node>.npz holds plain arrays, never pickles, and after them the
digest of its run, its name and its content: before it has been compared, nothing of a file is interpreted. The
last two steps are kept, and the last one that is on the disk for good.
"""

from __future__ import annotations

import hashlib
import io
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from bench.base.errors import Misfit, UserError
from bench.store.disk import Pace
from bench.store.files import FOREIGN
from bench.store.record import Row
from bench.store.regular import content_of, make_folder, write_bytes
from bench.training.costs import SENT, SHARED, Stopwatch
from bench.training.observer import Snapshot
from bench.training.running_sums import CHANNEL

KEEP = 2
SECONDS, COUNTS = "seconds", "counts"
NAME = re.compile(r"(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)-(0|[1-9][0-9]*)\.npz")
SEAL = b"\nsha256 "
LARGEST = 1 << 36
"""Bytes of a file that is read."""
pace = Pace()
_lasting: dict[Path, int] = {}  # the last step that is on the disk for good, by folder


@dataclass(frozen=True)
class Resume:
    """Where to go on: the step, and for every replica its folder and latest row."""

    step: int
    folders: Sequence[Path]
    rows: Sequence[Row]


def write(folder: Path, moment: Snapshot, hosted: range) -> None:
    """Keep the hosted nodes of one replica; forget all but the last two steps."""
    arrays = {name: tensor[0].cpu().numpy() for name, tensor in {**moment.state, **moment.in_flight}.items()}
    arrays[SECONDS] = np.array([moment.seconds[0][name] for name in Stopwatch.NAMES])
    arrays[COUNTS] = moment.counts[0]
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    make_folder(folder)
    span = f"{hosted.start}-{hosted.stop - 1}.npz"
    path = folder / f"{moment.step}.{span}"
    write_bytes(path, buffer.getvalue() + _seal(_names(path), buffer.getvalue()))
    if pace.wait(moment.step, path):
        _lasting[folder] = moment.step
    mine = sorted(_files(folder, f"*.{span}"), key=_step)
    for old in mine[:-KEEP]:
        if _step(old) != _lasting.get(folder):
            old.unlink()


def steps(folder: Path, nodes: int) -> list[int]:
    """The steps at which every node can be read, the latest first."""
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
    """The moment to go on from, for the hosted nodes of all replicas; Misfit where there is none."""
    try:
        parts = [_read(folder, resume.step, hosted) for folder in resume.folders]
        names = [name for name in parts[0] if name not in (SECONDS, COUNTS)]
        if not all(_are_counts(part[COUNTS]) for part in parts):
            raise ValueError(f"{COUNTS} are not whole numbers")
        stacked = {name: np.stack([part[name] for part in parts]) for name in names}
    except (LookupError, ValueError) as error:
        raise Misfit(f"The files of the checkpoint at step {resume.step} do not belong together: {error}") from error
    held = {name: torch.as_tensor(array, dtype=dtype, device=device) for name, array in stacked.items()}
    in_flight = {name: held.pop(name) for name in names if name.startswith(CHANNEL)}
    seconds = [dict(zip(Stopwatch.NAMES, part[SECONDS].tolist(), strict=True)) for part in parts]
    return Snapshot(resume.step, held, seconds, list(resume.rows), [part[COUNTS] for part in parts], in_flight)


def _are_counts(found: np.ndarray) -> bool:
    return found.ndim == 1 and found.dtype.kind == "i" and len(found) >= len(SHARED) + len(SENT)


def forget(folder: Path, step: int) -> None:
    """Delete a step that cannot be gone on from."""
    for path in _files(folder, f"{step}.*.npz"):
        path.unlink()


def damage(folder: Path) -> dict[str, str]:
    """Return the damaged files, with the reason."""
    return {path.name: FOREIGN for path in _files(folder) if arrays(path) is None}


def _read(folder: Path, step: int, hosted: range) -> Mapping[str, np.ndarray]:
    """The rows of the hosted nodes, from whichever files hold them."""
    found: dict[str, dict[int, np.ndarray]] = {}
    seconds, counts = np.zeros(len(Stopwatch.NAMES)), np.zeros(0, dtype=np.int64)
    for path in _files(folder, f"{step}.*.npz"):
        if (file := arrays(path)) is None:
            raise UserError(f"The checkpoint '{path}' was damaged meanwhile. Run again: an earlier one is used.")
        seconds, counts = np.maximum(seconds, file.pop(SECONDS)), file.pop(COUNTS)
        for name, rows in file.items():
            found.setdefault(name, {}).update({_numbers(path)[1] + i: row for i, row in enumerate(rows)})
    states = {name: np.stack([rows[i] for i in hosted]) for name, rows in found.items()}
    return {**states, SECONDS: seconds, COUNTS: counts}


def arrays(path: Path) -> dict[str, np.ndarray] | None:
    """What a checkpoint file holds, if it is what was written: a row for each of its nodes, and seconds."""
    try:
        content = content_of(path, LARGEST)
    except (OSError, MemoryError):
        return None
    body = content.rpartition(SEAL)[0]
    if not body or content[len(body) :] != _seal(_names(path), body):
        return None
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as file:
            if any(part.compress_type != zipfile.ZIP_STORED for part in file.infolist()):
                return None  # hearsay compresses none: what grows when it is read was forged
        with np.load(io.BytesIO(body), allow_pickle=False) as file:
            found = {name: file[name] for name in file.files}
        if any(array.dtype.kind not in "biuf" for array in found.values()):
            return None
    except Exception:  # a digest can be forged, and then NumPy raises anything
        return None
    _, first, last = _numbers(path)
    fits = all(array.shape[:1] == (last + 1 - first,) for name, array in found.items() if name not in (SECONDS, COUNTS))
    return found if fits and SECONDS in found and found[SECONDS].shape == (len(Stopwatch.NAMES),) else None


def _names(path: Path) -> str:
    """Of the run and of the file."""
    return f"{path.parents[1].name}/{path.name}"


def _seal(name: str, body: bytes) -> bytes:
    return SEAL + hashlib.sha256(name.encode() + body).hexdigest().encode() + b"\n"


def _files(folder: Path, pattern: str = "*.npz") -> list[Path]:
    """Those that may be checkpoints; none of a folder that is a link."""
    return [] if folder.is_symlink() else [path for path in folder.glob(pattern) if NAME.fullmatch(path.name)]


def _numbers(path: Path) -> tuple[int, int, int]:
    """The step, the first and the last node, as the file's name says them."""
    step, first, last = map(int, path.name.removesuffix(".npz").replace("-", ".").split("."))
    return step, first, last


def _step(path: Path) -> int:
    return _numbers(path)[0]
