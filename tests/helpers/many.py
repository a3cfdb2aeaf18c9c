"""A results folder with thousands of runs, made quickly: a few real ones, and copies under other names and numbers."""

from __future__ import annotations

import copy
import io
import json
from pathlib import Path

import pyarrow.parquet as pq
import yaml

from bench.config.run_config import parse
from bench.store.files import read_json, sha256, write_json
from bench.store.integrity import SUMS


def multiply(source: Path, target: Path, count: int, failed_every: int = 0) -> Path:
    """``count`` runs in ``target``: those of ``source`` again and again with other seeds and stepsizes."""
    made = [_files(folder) for folder in sorted((source / "runs").iterdir())]
    real = list({_kind(files["config"]): files for files in made if files["status"]["state"] == "done"}.values())
    for number in range(count):
        files = real[number % len(real)]
        config = copy.deepcopy(files["config"])
        again = number // len(real)
        config["seed"] = again
        if "eta" in config["algo"]:
            config["seed"], stepsize = divmod(again, 20)
            config["algo"]["eta"] = round(0.01 * 1.5**stepsize, 6)
        run = parse(config)
        failed = bool(failed_every and number % failed_every == 0)
        _write(target / "runs" / run.run_id, {**files, "config": config}, run.labels(), failed)
    return target


def _kind(config: dict) -> str:
    """What stays the same."""
    return json.dumps({**config, "seed": 0, "algo": {**config["algo"], "eta": 0}})


def _files(folder: Path) -> dict:
    assert pq.read_table(io.BytesIO((folder / "metrics.parquet").read_bytes())).num_rows
    return {
        "config": yaml.safe_load((folder / "config.yaml").read_text()),
        "summary": read_json(folder / "summary.json"),
        "status": read_json(folder / "status.json"),
        "manifest": read_json(folder / "manifest.json"),
        "metrics": (folder / "metrics.parquet").read_bytes(),
        "log": (folder / "log.txt").read_bytes(),
    }


def _write(folder: Path, files: dict, labels: dict, failed: bool) -> None:
    folder.mkdir(parents=True)
    end = {"state": "failed", "error": "Rank 1 said no."} if failed else {"state": files["status"]["state"]}
    config = json.dumps(files["config"]).encode()  # which is YAML
    sums = {"metrics.parquet": sha256(files["metrics"]), "config.yaml": sha256(config)}
    summary = {**files["summary"], **labels, "run_id": folder.name, "state": end["state"], SUMS: sums}
    (folder / "config.yaml").write_bytes(config)
    (folder / "metrics.parquet").write_bytes(files["metrics"])
    write_json(folder / "manifest.json", {**files["manifest"], "run_id": folder.name})
    (folder / "log.txt").write_bytes(files["log"])
    write_json(folder / "summary.json", summary)
    write_json(folder / "status.json", {**files["status"], **end})
