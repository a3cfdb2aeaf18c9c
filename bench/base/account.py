"""Whose Weights & Biases: which server, whether anybody is logged in there, and what its variables mean here."""

from __future__ import annotations

import netrc
import os
from urllib.parse import urlparse

from bench.base.errors import UserError

AGENTS = ("WANDB_SWEEP_ID", "WANDB_RUN_ID", "WANDB_SWEEP_PARAM_PATH")
"""Variables that `wandb agent` sets for the one run of the command that it starts."""
IGNORED = {
    "WANDB_RUN_ID": "the id of a W&B run is the run_id",
    "WANDB_SWEEP_ID": "only `wandb agent` starts runs of a W&B sweep",
    "WANDB_NAME": "it names one run, and this command has several; WANDB_RUN_GROUP names them all",
    "WANDB_RESUME": "the same command resumes a run",
    "WANDB_RESUME_FROM": "the same command resumes a run",
    "WANDB_FORK_FROM": "no run is a fork",
    "WANDB_DIR": "W&B's files are in the folder wandb of the results; results=FOLDER moves both",
}
"""Variables that W&B would apply to every run, and why they are not."""
OF_RUNS = (
    *("WANDB_PROJECT", "WANDB_ENTITY", "WANDB_NAME", "WANDB_RUN_GROUP", "WANDB_JOB_TYPE", "WANDB_TAGS", "WANDB_NOTES"),
)
"""Variables that take effect when hearsay writes a W&B run."""
MODES = {mode: mode for mode in ("online", "offline", "shared", "disabled")} | {"run": "online", "dryrun": "offline"}
"""Values of WANDB_MODE, the last two as earlier versions of W&B called them."""


def mode() -> str:
    """What the user set, else online for those who are logged in, else offline."""
    if given := mode_of_environment():
        return given
    if os.environ.get("WANDB_API_KEY"):
        return "online"
    try:
        known = netrc.netrc().hosts
    except (OSError, netrc.NetrcParseError):
        return "offline"
    return "online" if urlparse(base_url()).hostname in known else "offline"


def mode_of_environment() -> str | None:
    """The mode that WANDB_MODE names; None if it is unset or empty. W&B rejects an empty one, so it is removed.

    Raises:
        UserError: W&B has no such mode.
    """
    given = os.environ.get("WANDB_MODE")
    if not given:
        os.environ.pop("WANDB_MODE", None)
        return None
    if given not in MODES:
        raise UserError(f"WANDB_MODE must be online, offline, shared or disabled, got {given!r}.")
    return MODES[given]


def base_url() -> str:
    """The server that W&B itself would talk to: of its environment, its settings file, or its own default."""
    import wandb

    mode_of_environment()  # an empty one would stop W&B
    return str(wandb.setup().settings.base_url)


def has_agent() -> bool:
    """Whether `wandb agent` has started this command, for one run of a W&B sweep."""
    return all(os.environ.get(name) for name in AGENTS[:2])


def ignored(alone: bool) -> set[str]:
    """Variables that W&B must not see; ``alone``: this command has one run."""
    of_agent = AGENTS if alone and has_agent() else ()
    of_one = ("WANDB_NAME",) if alone else ()
    service = "WANDB_SERVICE"  # a process of W&B's that another program started, and that ends with it
    return {*IGNORED, *AGENTS, service} - {*of_agent, *of_one}


def notices(alone: bool) -> list[str]:
    """A sentence for each of them that the user has set."""
    told = {name: why for name, why in IGNORED.items() if name != "WANDB_DIR" or not has_agent()}
    return [f"{name} is ignored: {why}." for name, why in told.items() if name in ignored(alone) & {*os.environ}]


def notices_of_existing(count: int, why: str, alone: bool) -> list[str]:
    """A sentence about the variables that have no effect on runs whose W&B runs are not written.

    Args:
        count: the number of these runs.
        why: the reason, and what to type.
        alone: this command has one run.
    """
    names = [name for name in OF_RUNS if os.environ.get(name) and name not in ignored(alone)]
    if not names or not count:
        return []
    verb = "is" if len(names) == 1 else "are"
    return [f"{', '.join(names)} {verb} ignored for {count} {'run' if count == 1 else 'runs'}: {why}"]
