"""The results of a finished run that is repeated. They stay in its folder until the repeated run has ended."""

from __future__ import annotations

import shutil
from pathlib import Path

from bench.store.regular import is_regular, make_folder, remove

EARLIER = "earlier"
"""Their folder, in the run folder."""
FILES = ("config.yaml", "manifest.json", "metrics.parquet", "summary.json", "status.json", "log.txt")


def keep(run: Path) -> None:
    """Copy the files of a finished run to its folder ``earlier``."""
    draft, place = run / f".{EARLIER}", run / EARLIER
    for old in (draft, place):
        remove(old)
    make_folder(draft)
    for name in FILES:
        if is_regular(run / name):
            shutil.copyfile(run / name, draft / name, follow_symlinks=False)
    draft.rename(place)


def has_earlier(run: Path) -> bool:
    return (run / EARLIER).is_dir()


def forget(run: Path) -> None:
    """Delete the earlier results, since the repeated run has ended."""
    remove(run / EARLIER)
