"""What a stranger may forge, its digest made right: an index, tables, checkpoints, values of another kind."""

from __future__ import annotations

import copy
import io
import json
import random
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console

from analysis import load
from analysis.results import block, index
from bench.store.files import SEAL, SEALED, read_json, sha256, write_json
from bench.store.integrity import SUMS
from bench.sweep.sweep import run_all
from bench.training import checkpoint
from tests.faults.harm_foreign import THEME
from tests.faults.harm_store import unfinished
from tests.faults.table import fault
from tests.helpers.configs import config
from tests.helpers.damage import WAYS
from tests.helpers.readers import read_by_all, same_but

IGNORED, BELIEVED = "the index is ignored, and the runs are read instead", "the index is read, with its forged values"
NAMED = "the run is reported as unreadable, and the other runs are unchanged"
ALONE = "the run is shown as stored, and the other runs are unchanged"
REFUSED, TAKEN = "the checkpoint is rejected", "the checkpoint is read, since its arrays fit the run"
ODD: list[Any] = [None, [], {}, "x", -1, 0, 1e300, float("inf"), 10**30, 10**400, True, [[1]], {"a": [{"b": None}]}]
ODD += ["\x1b[2J", "\ud800", "$\\input{/etc/passwd}$", "[/]", "=cmd()", "<script>", "a\nb", "x" * 10_000]


def made(folder: Path) -> list[Path]:
    """Four runs of two methods."""
    runs = [config(results=str(folder), algo=algo, seed=seed) for algo in ("dnasa", "dsgd") for seed in (0, 1)]
    assert run_all(runs, Console(quiet=True), "by -m") == 0
    return sorted((folder / "runs").iterdir())


def sealed(path: Path, value: dict[str, Any]) -> None:
    """A JSON file as hearsay writes it, with anything in it."""
    bare = {name: item for name, item in value.items() if name != "digest"}  # which stands at the end
    body = json.dumps({**bare, "digest": ""}, indent=1).encode().rpartition(SEAL)[0]
    path.write_bytes(body + SEAL + sha256(body).encode() + SEALED)


def other_words(content: bytes, chance: random.Random) -> bytes:
    """One word of the JSON text in it for another."""
    words = [b"-1", b"null", b"1e999", b"99999999999", b'"x"', b"[]", b"{}", b"true", str(10**30).encode()]
    places = [place for place, byte in enumerate(content[:4000]) if byte in b'0123456789"[{']
    begin = chance.choice(places)
    return content[:begin] + chance.choice(words) + content[begin + chance.randrange(1, 12) :]


@fault(THEME, "the index is forged, with a valid checksum: bits are flipped, pieces are zeroed, swapped or removed, "
       "or words are replaced", allowed=(IGNORED, BELIEVED), quick=50, often=400, full=20000)  # fmt: skip
def forged_index(trials: int, folder: Path) -> Counter[str]:
    seen, chance = Counter[str](), random.Random(33)
    many, index.MANY = index.MANY, 2
    try:
        made(folder)
        expected, file = load(folder), index.file_of(folder)
        whole = file.read_bytes()
        assert block.read_blocks(file)
        for trial in range(trials):
            file.write_bytes(whole[block.BEGIN :])
            if trial % 5 == 4:
                file.write_bytes(other_words(file.read_bytes(), chance))
            else:
                WAYS[trial % 5](file, chance)
            body = file.read_bytes()
            file.write_bytes(block.MAGIC + bytes.fromhex(sha256(body)) + body)
            used = bool(block.read_blocks(file))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the software that an index names may be forged, too
                found = load(folder)
            good = set(found["run_id"]) == set(expected["run_id"]) and (used or found.equals(expected))
            seen[(BELIEVED if used else IGNORED) if good else "WRONG WITHOUT AN INDEX"] += 1
    finally:
        index.MANY = many
    return seen


def columns(table: pa.Table, **others: Any) -> pa.Table:
    for name, values in others.items():
        table = table.append_column(name, pa.array(values))
    return table


def tables(table: pa.Table) -> Iterator[bytes]:
    """Parquet files that are sound, and no metrics."""
    rows = len(table)
    odd = [
        columns(table, algo=["x"] * rows),
        columns(table, run_id=range(rows)),
        columns(table, extra=[[1]] * rows),
        columns(table, extra=["=cmd()"] * rows),
        table.append_column("step", table["step"]),
        table.drop_columns(["step"]),
        table.set_column(0, "step", pa.array([None] * rows, pa.int64())),
        table.set_column(0, "step", pa.array([str(step) for step in range(rows)])),
        table.set_column(8, "train_loss", pa.array([b"\xff"] * rows)),
        table.set_column(8, "train_loss", pa.array([10**6] * rows, pa.timestamp("s"))),
        table.set_column(8, "train_loss", pa.array([{"a": 1}] * rows)),
        table.slice(0, 0),
        pa.table({}),
    ]
    for one in odd:
        yield _parquet(one)
    zeros = pa.array(np.zeros(1 << 24))  # a gigabyte in a file of a few kilobytes
    yield _parquet(pa.table({f"c{i}": zeros for i in range(8)}), use_dictionary=True, compression="zstd")


def _parquet(table: pa.Table, **how: Any) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, **how)
    return sink.getvalue().to_pybytes()


@fault(THEME, "metrics.parquet is forged, with a valid checksum: in some trials it has other columns, types or sizes; "
       "in 9 of 10 trials bits are flipped, or pieces are zeroed, swapped or removed",
       allowed=(NAMED, ALONE), quick=20, often=150, full=3000)  # fmt: skip
def forged_metrics(trials: int, folder: Path) -> Counter[str]:
    seen, chance = Counter[str](), random.Random(33)
    run, *_ = made(folder)
    before, path = load(folder), run / "metrics.parquet"
    whole, summary = path.read_bytes(), json.loads((run / "summary.json").read_bytes())
    sound = tables(pq.read_table(io.BytesIO(whole)))
    for trial in range(trials):
        path.write_bytes(next(sound, whole) if trial % 10 == 0 else whole)
        if trial % 10:
            WAYS[trial % 4](path, chance)
        write_json(run / "summary.json", {**summary, SUMS: {**summary[SUMS], path.name: sha256(path.read_bytes())}})
        found = load(folder)
        named = found.attrs["unreadable"] == [run.name]
        good = same_but(found, before, run.name) and (named or run.name in set(found["run_id"]))
        seen[(NAMED if named else ALONE) if good else "THE OTHERS WERE CHANGED"] += 1
    return seen


def archives(content: bytes, chance: random.Random) -> Iterator[bytes]:
    """Arrays that NumPy could be led astray with."""
    with np.load(io.BytesIO(content)) as file:
        arrays = {name: file[name] for name in file.files}
    state = next(name for name, array in arrays.items() if array.ndim == 2)
    for changed in ({state: arrays[state].astype(object)}, {state: arrays[state].astype(str)}, {state: np.zeros(3)}):
        sink = io.BytesIO()
        np.savez(sink, **{**arrays, **changed}, allow_pickle=True)
        yield sink.getvalue()
    sink = io.BytesIO()
    np.savez_compressed(sink, **{**arrays, "bomb": np.zeros((6, 1 << 20))})
    yield sink.getvalue()
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as file:
        for name, array in arrays.items():
            header = io.BytesIO()
            shape = (6, 1 << 45) if name == state else array.shape
            np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": shape})
            file.writestr(f"{name}.npy", header.getvalue() + array.tobytes())
    yield sink.getvalue()


@fault(THEME, "a checkpoint is forged, with a valid checksum: in some trials it has pickles, shapes larger than any "
       "memory or compressed zeros; in 9 of 10 trials bits are flipped, or pieces are zeroed, swapped or removed",
       allowed=(REFUSED, TAKEN), quick=60, often=500, full=4000)  # fmt: skip
def forged_checkpoint(trials: int, folder: Path) -> Counter[str]:
    seen, chance = Counter[str](), random.Random(33)
    path = sorted(unfinished(folder).checkpoints.glob("*.npz"))[-1]
    whole = path.read_bytes().rpartition(checkpoint.SEAL)[0]
    odd = archives(whole, chance)
    for trial in range(trials):
        path.write_bytes(next(odd, whole) if trial % 10 == 0 else whole)
        if trial % 10:
            WAYS[trial % 4](path, chance)
        body = path.read_bytes()
        path.write_bytes(body + checkpoint._seal(checkpoint._names(path), body))
        found = checkpoint.arrays(path)
        plain = found is None or all(array.dtype.kind in "biuf" for array in found.values())
        seen[(REFUSED if found is None else TAKEN) if plain else "A PICKLE BELIEVED"] += 1
        checkpoint.steps(path.parent, 6)
    return seen


def values_of(value: dict[str, Any], before: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, part in value.items():
        if name != "digest":
            yield (*before, name)
        if isinstance(part, dict):
            yield from values_of(part, (*before, name))


def put(value: dict[str, Any], place: tuple[str, ...], new: Any) -> dict[str, Any]:
    value = part = copy.deepcopy(value)
    for name in place[:-1]:
        part = part[name]
    part[place[-1]] = new
    return value


@fault(THEME, "a value of summary.json, status.json or manifest.json of one of four runs gets another type, with a "
       "valid checksum; then all readers run", allowed=(NAMED, ALONE), quick=5, often=60, full=2400)  # fmt: skip
def odd_values(trials: int, folder: Path) -> Counter[str]:
    seen, chance = Counter[str](), random.Random(33)
    run, *_ = made(folder)
    _, before = read_by_all(folder)
    files = {name: read_json(run / name) | json.loads((run / name).read_bytes()) for name in JSON}
    cases = [(name, place, new) for name, value in files.items() for place in values_of(value) for new in ODD]
    for name, place, new in chance.sample(cases, trials) if trials <= len(cases) else chance.choices(cases, k=trials):
        whole = (run / name).read_bytes()
        sealed(run / name, put(files[name], place, new))
        try:
            became = judged(folder, run.name, before)
            seen[became if became in (NAMED, ALONE) else f"{name}: {'.'.join(place)} = {new!r:.40}: {became}"] += 1
        except Exception as error:
            seen[f"{name}: {'.'.join(place)} = {new!r:.40}: {type(error).__name__}: {error}"] += 1
        (run / name).write_bytes(whole)
    return seen


JSON = ("summary.json", "status.json", "manifest.json")


def judged(folder: Path, run: str, before: pd.DataFrame) -> str:
    with warnings.catch_warnings(record=True) as said:  # that the runs have other software, which may be forged, too
        warnings.simplefilter("always")
        told, table = read_by_all(folder)
    told += "".join(str(warning.message) for warning in said)
    if "\x1b" in told:
        return "COMMANDS ARE PASSED ON"
    if not same_but(table, before, run):
        return "THE OTHERS WERE CHANGED"
    return NAMED if run in table.attrs["unreadable"] else ALONE
