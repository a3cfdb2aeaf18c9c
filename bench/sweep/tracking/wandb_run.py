"""A Weights & Biases run for each run folder.

A W&B run is made from the run folder alone, while the run is computed or later, with the run_id as its id. The k-th
evaluation is the k-th entry of its history. A lock lets one process at a time write the W&B run of a run folder.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Iterable, Mapping
from glob import escape
from pathlib import Path
from typing import Any

import wandb

from bench.base.account import OF_AGENT, has_agent, mode
from bench.network.drawing import Graph, edges_of, on_a_circle, svg
from bench.store.files import read_json, upload_lock_of, write_json
from bench.store.integrity import Damaged, examine, read_file
from bench.store.locks import Lock
from bench.store.read_parquet import read_table
from bench.store.record import FACTS, FINAL
from bench.store.regular import make_folder, no_link, remove
from bench.sweep.tracking.mark import MARK, WRITER, place_of, writer
from bench.sweep.tracking.offline_file import wait_until_complete

AXES = ("step", "epoch", "samples", "gradients", "rounds", "scalars_sent", "bytes", "wall_s")
NEEDED = os.R_OK | os.W_OK | os.X_OK
"""The access that W&B needs to a folder."""
EXIT = {**dict.fromkeys(FINAL, 0), "failed": 1, "interrupted": 130, "running": 130}
"""Exit codes by state. A diverged run is a result; an interrupted one has the exit code of a shell."""


def wandb_settings() -> wandb.Settings:
    """Return settings that record only the metrics: no console output, system statistics or code."""
    return wandb.Settings(
        mode=mode(),  # type: ignore[arg-type]
        silent=True,
        console="off",
        x_disable_stats=True,
        x_disable_meta=True,
        x_disable_machine_info=True,
        disable_git=True,
        disable_code=True,
        x_save_requirements=False,
        init_timeout=10,
        use_dot_wandb=False,  # W&B would use a folder .wandb, or a link, instead of wandb/
    )


def warm_up() -> None:
    """Write a run to a temporary folder, so that W&B starts its service."""
    with tempfile.TemporaryDirectory() as folder:
        run = wandb.init(dir=folder, mode="offline", settings=wandb_settings())
        run.log({"nothing": wandb.Html("", inject=False)})
        run.finish()


class Busy(Exception):
    """Another process writes this W&B run."""


class WandbMirror:
    """The W&B run of one run folder, which is locked until ``finish``, ``release`` or an error."""

    def __init__(
        self, folder: Path, project: str, entity: str | None, parameters: Mapping[str, Any] | None = None
    ) -> None:
        """``parameters``: those that `wandb agent` chose, by which its controller knows the run.

        Raises:
            Busy: Another process writes this W&B run.
        """
        self._folder, self._results = folder, folder.parents[1]
        self._place = {} if has_agent() else {"project": project, "entity": entity}
        self._lock = Lock(upload_lock_of(folder))
        if not self._lock.take():
            raise Busy(f"another upload of {folder.name} has not ended ({self._lock.holder()})")
        try:
            self._begin(folder, project, entity, parameters)
        except BaseException:
            self.release()
            raise

    def _begin(self, folder: Path, project: str, entity: str | None, parameters: Mapping[str, Any] | None) -> None:
        """Replace the W&B run by a new one without evaluations."""
        found, manifest = examine(folder), read_file(folder, "manifest.json")
        if found.damaged:
            raise Damaged(f"skipped, since files are damaged: {found.sentence()}")
        must_write(self._results)
        labels = {name: value for name, value in found.labels.items() if name != "state"}
        run_id = folder.name
        for old in images(self._results, run_id):
            remove(old)
        (folder / MARK).unlink(missing_ok=True)
        edge_list = edges_of(manifest["mixing"])  # None if there are too many
        certificate = {name: value for name, value in manifest["mixing"].items() if name != "edge_list"}
        facts = {name: manifest[name] for name in FACTS if name in manifest}
        config = {**labels, "certificate": certificate, "edges": edge_list, **facts}
        if further := {name: value for name, value in (parameters or {}).items() if name not in config}:
            config |= {**further, OF_AGENT: [*further]}
        _refuse_references(config)
        given = os.environ.get
        sweep = None if has_agent() else shortened(str(manifest.get("sweep") or "single runs"), 128)
        self._run = wandb.init(
            dir=self._results,
            project=project,  # under `wandb agent`, W&B uses the agent's project, entity and id
            entity=entity,
            id=run_id,
            name=given("WANDB_NAME") or title(labels, manifest.get("varies", ())),
            group=given("WANDB_RUN_GROUP") or sweep,
            job_type=given("WANDB_JOB_TYPE") or f"{manifest['engine']} {manifest['device']}",
            tags=[
                *(labels[name] for name in ("algo", "topology", "dataset", "engine")),
                *filter(None, given("WANDB_TAGS", "").split(",")),
                *(shortened(f"also {later}", 64) for later in manifest.get("also", ())),
            ],
            config=config,
            reinit="create_new",
            settings=wandb_settings(),
        )
        for axis in AXES:
            self._run.define_metric(axis)
        self._run.define_metric("*", step_metric="step")
        directed, drawn = (bool(certificate.get(name)) for name in ("directed", "drawn"))
        graph = Graph(labels["topology"], certificate["nodes"], edge_list or [], directed, drawn)
        self._drawing = None if edge_list is None else svg(graph, 320, 0.5 + on_a_circle(graph) / 2)
        self._sent = 0  # a run with the same id on the server is replaced

    def update(self) -> None:
        """Upload new evaluations."""
        try:
            self._update()
        except BaseException:
            self.release()
            raise

    def _update(self) -> None:
        found = examine(self._folder)
        if found.damaged:
            raise Damaged(f"not continued, since files are damaged: {found.sentence()}")
        rows = found.rows if found.metrics is None else read_table(found.metrics).to_pylist()
        for number, row in enumerate(rows[self._sent :], self._sent):
            entry: dict[str, Any] = {name: value for name, value in row.items() if value is not None}
            if number == 0 and self._drawing is not None:
                entry["topology"] = wandb.Html(self._drawing, inject=False)
            self._run.log(entry)
        self._sent = max(self._sent, len(rows))

    def finish(self) -> None:
        """Upload the rest and the state, verify an offline run, and write the mark."""
        try:
            mark = current(self._folder)  # first, so that a run that ends meanwhile is not up to date
            self._update()
            self._run.summary["state"] = mark["state"]
            file = Path(self._run.settings.sync_file) if self._run.offline else None
            self._run.finish(exit_code=EXIT.get(mark["state"], 1))
            if file is not None:
                wait_until_complete(file, self._sent)
            write_json(self._folder / MARK, {**mark, **self._place, WRITER: writer()})
        finally:
            self.release()

    def release(self) -> None:
        """Let other processes write this W&B run."""
        self._lock.release()


def _refuse_references(value: Any, name: str = "") -> None:
    """Raise ``Damaged`` if a value names a W&B artifact: W&B would log in at the address in it, even offline."""
    if isinstance(value, str) and value.lower().startswith(("wandb-artifact:", "wandb-client-artifact:")):
        raise Damaged(f"skipped, since '{name}' is the address of a W&B artifact, at which W&B would log in")
    if isinstance(value, Mapping):
        if odd := next((key for key in value if key in ("_type", "_wandb")), None):
            raise Damaged(f"skipped, since '{name or odd}' is an object of W&B, which W&B would look up")
        for key, part in value.items():
            _refuse_references(part, str(key))
    elif isinstance(value, list | tuple):
        for part in value:
            _refuse_references(part, name)


def must_write(results: Path) -> None:
    """Raise PermissionError if W&B cannot write to the results folder: it would write to a temporary one."""
    folder = results
    if os.access(folder, NEEDED):
        folder = make_folder(results / "wandb")
        if os.access(folder, NEEDED):
            return
    raise PermissionError(f"W&B cannot write to '{folder}'. Make this folder writable.")


def current(folder: Path) -> dict[str, Any]:
    """Return the mark of a complete W&B run of this folder."""
    status = read_file(folder, "status.json")
    also = read_file(folder, "manifest.json").get("also")
    mark = {"state": status.get("state", "running"), "time": status.get("time"), "mode": mode()}
    return {**mark, "also": also} if also else mark


def up_to_date(folder: Path, project: str | None = None, entity: str | None = None) -> bool:
    """Whether the W&B run exists, is complete, and is in this project of this entity, as far as its mark says.

    Without ``project`` or ``entity``, any is right.
    """
    place, mark = place_of(folder), read_json(folder / MARK)
    asked = {name: value for name, value in (("project", project), ("entity", entity)) if value is not None}
    moved = any(name in place and place[name] != value for name, value in asked.items())
    if moved or {name: value for name, value in mark.items() if name not in (*place, WRITER)} != current(folder):
        return False
    return mode() == "online" or len(images(folder.parents[1], folder.name)) == 1


def images(results: Path, run_id: str) -> list[Path]:
    """Return the offline folders of a run."""
    found = no_link(results / "wandb").glob(f"offline-run-*-{escape(run_id)}*")  # W&B may add a number
    return [path for path in found if path.is_dir() and not path.is_symlink() and _belongs(path, run_id)]


def _belongs(folder: Path, run_id: str) -> bool:
    """Whether an offline folder is that of a run, by its file; by its own name if W&B was killed before the file."""
    files = {file.name for file in folder.glob("run-*.wandb")}
    named = re.fullmatch(rf"offline-run-[0-9]+_[0-9]+-{re.escape(run_id)}", folder.name)
    return f"run-{run_id}.wandb" in files if files else named is not None


def title(labels: dict[str, Any], varies: Iterable[str]) -> str:
    """Return a title such as dsgt ring a9a η=0.1 batch_size=8 s0, with the settings that vary in the sweep."""
    eta = [f"η={labels['eta']:g}"] if isinstance(labels.get("eta"), float) else []
    usual = ("algo", "topology", "dataset", "eta", "seed")
    more = [f"{name}={labels[name]}" for name in varies if name in labels and name not in usual]
    return " ".join([labels["algo"], labels["topology"], labels["dataset"], *eta, *more, f"s{labels['seed']}"])


def shortened(text: str, most: int) -> str:
    """Cut a text to ``most`` characters; a hash keeps different texts different."""
    if len(text) <= most:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:6]
    return f"{text[: most - 8]}… {digest}"
