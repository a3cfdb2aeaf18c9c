"""Where results come from: a folder of runs, an archive of one, or a W&B project."""

from __future__ import annotations

from pathlib import Path

from analysis.results.archive import is_archive, read_archive
from analysis.results.errors import NoData
from analysis.results.folder import load_folder
from analysis.results.results import Results


def read(source: str | Path) -> Results:
    if str(source).startswith("wandb:"):
        from analysis.results.from_wandb import load_wandb  # W&B takes a second to import

        return load_wandb(str(source).removeprefix("wandb:"))
    path = Path(source)
    if not path.exists():
        raise NoData(
            f"there is no folder {path} in {Path.cwd()}" if not path.is_absolute() else f"there is no folder {path}"
        )
    if is_archive(path):
        return read_archive(path)
    if path.name == "runs" and path.is_dir():
        raise NoData(f"{path} is the folder of the runs; give {path.parent}, which holds it")
    if not (path / "runs").is_dir():
        raise NoData(f"{path} holds no runs: there is no folder {path / 'runs'}")
    results = load_folder(path)
    if results.runs.empty:
        raise NoData(f"{path} holds no run that can be read")
    return results
