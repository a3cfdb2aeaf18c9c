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
    """Copy the files of finished runs to their folders ``earlier``, and sync them to disk.

    They are copied to a folder ``.earlier`` first, which a kill can leave behind.
    """
    drafts = [run / f".{EARLIER}" for run in runs]
    for run, draft in zip(runs, drafts, strict=True):
        for old in (draft, run / EARLIER):
            remove(old)
        make_folder(draft)
        for file in (run / name for name in FILES):
            if file.is_file() and not file.is_symlink():
                shutil.copyfile(file, draft / file.name, follow_symlinks=False)
    make_lasting(drafts)
    for run, draft in zip(runs, drafts, strict=True):
        draft.rename(run / EARLIER)
    make_lasting(runs)


def has_earlier(run: Path) -> bool:
    return (run / EARLIER).is_dir() or (run / f".{EARLIER}").is_dir()


def forget(run: Path) -> None:
    """Delete the earlier results, since the repeated run has ended."""
    for folder in (run / EARLIER, run / f".{EARLIER}"):
        remove(folder)
