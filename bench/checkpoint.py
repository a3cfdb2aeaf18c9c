"""Where a run stood, on disk: a file per process with the state of its nodes, readable by any number of processes.

<run>/checkpoint/<step>.<first node>-<last node>.npz holds plain arrays, never pickles. Files are written
whole or not at all, the last two steps are kept, and zip's own sums tell whether one can be trusted.
"""

from __future__ import annotations

import io
import re
import shutil
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from bench.files import write_bytes
from bench.loop import Moment, Stopwatch
from bench.metrics import Row

KEEP = 2
SECONDS = "seconds"
NAME = re.compile(r"(\d+)\.(\d+)-(\d+)\.npz")


@dataclass(frozen=True)
class Resume:
    """Where to go on: the step, and for every replica its folder and latest row."""

    step: int
    folders: Sequence[Path]
    rows: Sequence[Row]


def write(folder: Path, moment: Moment, hosted: range) -> None:
    """Keep the hosted nodes of one replica; forget all but the last two steps."""
    arrays = {name: tensor[0].cpu().numpy() for name, tensor in moment.state.items()}
    arrays[SECONDS] = np.array([moment.seconds[0][name] for name in Stopwatch.NAMES])
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    folder.mkdir(exist_ok=True)
    span = f"{hosted.start}-{hosted.stop - 1}.npz"
    write_bytes(folder / f"{moment.step}.{span}", buffer.getvalue())
    mine = sorted((path for path in folder.glob(f"*.{span}") if NAME.fullmatch(path.name)), key=_step)
    for old in mine[:-KEEP]:
        old.unlink()


def steps(folder: Path, nodes: int) -> list[int]:
    """The steps at which every node can be read, the latest first."""
    held: dict[int, set[int]] = {}
    for path in folder.glob("*.npz"):
        if (match := NAME.fullmatch(path.name)) and _sound(path):
            step, first, last = map(int, match.groups())
            held.setdefault(step, set()).update(range(first, last + 1))
    return sorted((step for step, there in held.items() if there == set(range(nodes))), reverse=True)


def load(resume: Resume, hosted: range, dtype: torch.dtype, device: torch.device) -> Moment:
    """The moment to go on from, for the hosted nodes of all replicas."""
    parts = [_read(folder, resume.step, hosted) for folder in resume.folders]
    names = [name for name in parts[0] if name != SECONDS]
    state = {
        name: torch.as_tensor(np.stack([part[name] for part in parts]), dtype=dtype, device=device) for name in names
    }
    seconds = [dict(zip(Stopwatch.NAMES, part[SECONDS].tolist(), strict=True)) for part in parts]
    return Moment(resume.step, state, seconds, list(resume.rows))


def discard(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def _read(folder: Path, step: int, hosted: range) -> Mapping[str, np.ndarray]:
    """The rows of the hosted nodes, from whichever files hold them."""
    found: dict[str, dict[int, np.ndarray]] = {}
    seconds = np.zeros(len(Stopwatch.NAMES))
    for path in folder.glob(f"{step}.*.npz"):
        if not (match := NAME.fullmatch(path.name)):
            continue
        first = int(match[2])
        with np.load(path, allow_pickle=False) as file:
            seconds = np.maximum(seconds, file[SECONDS])
            for name in file.files:
                if name != SECONDS:
                    found.setdefault(name, {}).update({first + i: row for i, row in enumerate(file[name])})
    return {**{name: np.stack([rows[i] for i in hosted]) for name, rows in found.items()}, SECONDS: seconds}


def _sound(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as file:
            return file.testzip() is None
    except (OSError, zipfile.BadZipFile):
        return False


def _step(path: Path) -> int:
    return int(path.name.split(".")[0])
