"""The results of a finished run that is repeated. They stay in its folder until the repeated run has ended."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from bench.store.disk import make_lasting
from bench.store.regular import make_folder, remove

EARLIER = "earlier"
"""Their folder, in the run folder."""
FILES = ("config.yaml", "manifest.json", "metrics.parquet", "summary.json", "status.json", "log.txt")


def keep(runs: Sequence[Path]) -> None:
    """Put the files of finished runs also into their folders ``earlier``, and sync them to disk.

    A kill can leave a folder ``.earlier`` behind, in which they are first.
    """
    drafts = [run / f".{EARLIER}" for run in runs]
    for run, draft in zip(runs, drafts, strict=True):
        for old in (draft, run / EARLIER):
            remove(old)
        make_folder(draft)
        for file in (run / name for name in FILES):
            if file.is_file() and not file.is_symlink():
                _link(file, draft / file.name)
    make_lasting(drafts)
    for run, draft in zip(runs, drafts, strict=True):
        draft.rename(run / EARLIER)
    make_lasting(runs)


def _link(file: Path, name: Path) -> None:
    """Give a file a second name, or copy it where this is not possible. The new run replaces files, not their bytes."""
    try:
        name.hardlink_to(file)
    except OSError:
        shutil.copyfile(file, name, follow_symlinks=False)


def has_earlier(run: Path) -> bool:
    return (run / EARLIER).is_dir() or (run / f".{EARLIER}").is_dir()


def forget(run: Path) -> None:
    """Delete the earlier results, since the repeated run has ended."""
    for folder in (run / EARLIER, run / f".{EARLIER}"):
        remove(folder)
