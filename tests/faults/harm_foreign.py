"""A results folder of somebody else: links that lead out of it, and files that are none."""

from __future__ import annotations

import os
import random
import shutil
import socket
from collections import Counter
from pathlib import Path

from rich.console import Console

from bench.store.files import lock_of
from bench.store.run_folder import RunFolder
from bench.sweep.sweep import run_all
from tests.faults.harm_store import unfinished
from tests.faults.table import fault
from tests.helpers.configs import config
from tests.helpers.readers import Late, at_most, read_by_all, same_but

THEME = "Results folders of others"
SECRET = "the reader's own words"
KEPT = "hearsay showed, changed and deleted nothing outside the results folder"
AT_ONCE = "the run is reported as damaged at once, and the other run is unchanged"
FILES = ("summary.json", "status.json", "manifest.json", "config.yaml", "log.txt", "metrics.parquet")
OTHERS = ("metrics.jsonl", "checkpoint", "checkpoint/30.0-5.npz", "damaged", "wandb.json", "")
AROUND = (".locks", ".locks/RUN", ".locks/RUN.lease", ".locks/leases", ".index", ".index/runs", "queue", "runs")


def two_runs(folder: Path) -> tuple[RunFolder, RunFolder]:
    """One that is done, and one that was killed."""
    done = config(results=str(folder), eval_every=4, seed=1)
    assert run_all([done], Console(quiet=True)) == 0
    return RunFolder(done), unfinished(folder)


def places(runs: tuple[RunFolder, RunFolder]) -> list[Path]:
    """What a stranger may have replaced: everything of both runs, and what lies beside them."""
    results = runs[0].path.parents[1]
    of_runs = [run.path / name for run in runs for name in (*FILES, *OTHERS)]
    return of_runs + [results / name.replace("RUN", run.path.name) for name in AROUND for run in runs]


def snapshot(folder: Path) -> dict[str, bytes | None]:
    return {str(path): path.read_bytes() if path.is_file() else None for path in sorted(folder.rglob("*"))}


def bait(place: Path, outside: Path) -> Path:
    """What the place held, outside of the results and with more in it."""
    target = outside / (place.name or "runs")
    if place.is_dir():
        shutil.copytree(place, target)
        for file in (*target.rglob("log.txt"), *target.rglob("config.yaml")):
            file.write_text(SECRET)
        (target / "precious").write_text(SECRET)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(place.read_bytes() if place.is_file() and place.suffix != ".txt" else SECRET.encode())
    return target


def read_and_made_again(runs: tuple[RunFolder, RunFolder]) -> str:
    """What everybody says who reads this folder, and what a sweep does that makes both runs again."""
    results = Path(runs[0].config.results)
    try:
        told, _ = read_by_all(results)
    except OSError as error:
        told = str(error)
    try:
        run_all([run.config for run in runs], Console(quiet=True))
    except Exception as error:  # UserError, OSError: a command says it
        told += str(error)
    return told


@fault(THEME, "a link out of the results folder replaces a file or folder; then all readers and the same sweep run",
       allowed=(KEPT,), quick=6, often=52, full=240)  # fmt: skip
def links_out(trials: int, folder: Path) -> Counter[str]:
    seen, chance = Counter[str](), random.Random(33)
    runs = two_runs(folder / "results")
    whole = shutil.copytree(folder / "results", folder / "whole")
    order = chance.sample(places(runs), len(places(runs)))
    for trial in range(trials):
        place = order[trial % len(order)]
        outside = folder / "outside"
        target = bait(place, outside)
        if place.is_dir():
            shutil.rmtree(place)
        place.unlink(missing_ok=True)
        place.parent.mkdir(exist_ok=True)
        place.symlink_to(target)
        before = snapshot(outside)
        told = read_and_made_again(runs)
        good = snapshot(outside) == before and SECRET not in told
        seen[KEPT if good else f"{place.relative_to(folder)}: {'shown' if SECRET in told else 'changed'}"] += 1
        for old in (folder / "results", outside):
            shutil.rmtree(old)
        shutil.copytree(whole, folder / "results")
    return seen


def fifo(path: Path) -> None:
    os.mkfifo(path)


def sock(path: Path) -> None:
    """A socket that is bound and nobody listens to; its name may be too long for one, so it is bound elsewhere."""
    home = os.open(path.parent, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(f"/proc/self/fd/{home}/{path.name}")
    os.close(home)


def device(path: Path) -> None:
    """As /dev/zero, where this user may make one; else a folder."""
    try:
        os.mknod(path, 0o20666, os.makedev(1, 5))
    except OSError:
        path.mkdir()


def endless(path: Path) -> None:
    """A file of 8 TB that takes no place."""
    with path.open("wb") as file:
        file.truncate(8 << 40)


WAYS = (fifo, sock, device, endless, Path.mkdir)


@fault(THEME, "a FIFO, a socket, a device, a file of 8 TB or a folder replaces a file; then all readers and the "
       "same sweep run", allowed=(AT_ONCE,), quick=5, often=30, full=300)  # fmt: skip
def strange_files(trials: int, folder: Path) -> Counter[str]:
    seen, chance = Counter[str](), random.Random(33)
    runs = two_runs(folder / "results")
    whole = shutil.copytree(folder / "results", folder / "whole")
    _, before = read_by_all(folder / "results")
    for trial in range(trials):
        way, victim = WAYS[trial % len(WAYS)], runs[trial // len(WAYS) % 2]
        place = victim.path / chance.choice([*FILES, *OTHERS[:1], OTHERS[2]])
        if chance.random() < 0.2:
            place = lock_of(victim.path)
        place.unlink(missing_ok=True)
        place.parent.mkdir(exist_ok=True)
        way(place)
        try:
            with at_most(20):
                _, table = read_by_all(folder / "results")
                run_all([run.config for run in runs], Console(quiet=True))
            other = next(run for run in runs if run is not victim)
            good = same_but(table, before, victim.path.name) and other.final
            seen[AT_ONCE if good else f"{way.__name__} at {place.name}: the other run was changed"] += 1
        except Late:
            seen[f"{way.__name__} at {place.name}: HANGS"] += 1
        except Exception as error:
            seen[f"{way.__name__} at {place.name}: {type(error).__name__}: {error}"] += 1
        shutil.rmtree(folder / "results")
        shutil.copytree(whole, folder / "results")
    return seen
