"""Decide whether an existing run can be reused or resumed, by its source, data and libraries."""

from __future__ import annotations

from bench.base.registry import metrics
from bench.build.fingerprint import fingerprint, libraries, remeasured
from bench.build.material import attributes, data_checksum
from bench.build.probe import FAR, near, problem_summary
from bench.config.distinct import differences
from bench.config.run_config import RunConfig
from bench.store.files import check_rows
from bench.store.record import Row
from bench.store.run_folder import RunFolder
from bench.store.stored_run import has_another
from bench.training import checkpoint
from bench.training.metrics import plugin_metrics

Run = RunFolder[RunConfig]


def another(run: Run) -> str | None:
    """Return an error if the folder has a run of other settings, else None."""
    if not has_another(run.path, run.config):
        return None
    theirs, ours = differences(run.summary(), run.row_labels())
    return (
        f"{run.path} has a run of other settings with the same run_id: it has {theirs}, and this run has {ours}. The "
        "last 8 digits of a run_id are the beginning of a hash. Add another results folder, such as results=other, and "
        "with W&B another tracker.project."
    )


def conflict(run: Run) -> str | None:
    """Return why a run that this process has just locked must neither be used nor be repeated, else None."""
    if not (error := another(run)) and (reason := undecided(run)):
        remedy = "Add stale=rerun to repeat it, or stale=keep to use it."
        return f"Another command has finished this run, with {reason}. {remedy}"
    return error


def stale(run: Run) -> str | None:
    """Return what has changed since the run was computed: source, data or problem; None if nothing has."""
    made = run.manifest()
    if remeasured(made.get("sources") or {}) or made.get("fingerprint") != fingerprint(run.config):
        return "another version of the source"
    data = made.get("data") or {}
    known = data.get("attributes")  # runs of earlier versions have none
    if data.get("sha256") not in (None, data_checksum(run.config)) or known not in (None, attributes(run.config)):
        return "other data of the same name"
    problem = made.get("problem")  # runs before this entry, and those without plug-ins, have none
    same = problem is None or near(problem, problem_summary(run.config), FAR)
    return None if same else "other losses or gradients of the same name"


def undecided(run: Run) -> str | None:
    """Return what has changed since a finished run was computed, if neither ``force`` nor ``stale`` is set."""
    return stale(run) if not run.config.force and run.config.stale is None and run.final else None


def reusable(run: Run) -> bool:
    """Whether the run is finished, up to date or accepted by stale=keep, and not forced."""
    if run.config.force or not run.final or has_another(run.path, run.config):
        return False
    return not stale(run) or run.config.stale == "keep"


def resume_point(run: Run) -> tuple[int, list[Row]] | None:
    """Return the step to resume from and the rows up to it; None if the run must start from step 0."""
    made = run.manifest()
    versions, columns = made.get("versions"), made.get("columns")
    same = isinstance(versions, dict) and libraries().items() <= versions.items()
    if run.config.force or stale(run) or not same or plugin_metrics(made.get("metrics") or {}) != list(metrics):
        return None
    rows, _ = check_rows(run.stream)
    rows = [row for row in rows if list(row) == columns]
    for step in checkpoint.steps(run.checkpoints, run.config.nodes):
        kept = [row for row in rows if row["step"] <= step]
        if step < run.config.steps and [row["step"] for row in kept] == [t for t in run.due if t <= step]:
            return step, kept
    return None


def damaged_checkpoints(run: Run) -> dict[str, str]:
    """Return the damage of the checkpoints, by file name. Checkpoints of another source are not read."""
    if stale(run):
        return {}
    return {f"checkpoint/{name}": reason for name, reason in checkpoint.damage(run.checkpoints).items()}
