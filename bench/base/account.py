"""The user's Weights & Biases account: its server, the login, and the environment variables."""

from __future__ import annotations

import netrc
import os
from urllib.parse import urlparse

from bench.base.errors import UserError

AGENTS = ("WANDB_SWEEP_ID", "WANDB_RUN_ID", "WANDB_SWEEP_PARAM_PATH")
"""Variables that `wandb agent` sets for a command with one run. Only hearsay reads the last, the parameter file."""
OF_AGENT = "_agent"
"""Entry of a W&B config: the names of the agent's parameters in it that are no labels, such as algo.eta beside eta."""
IGNORED = {
    "WANDB_RUN_ID": "the id of a W&B run is the run_id",
    "WANDB_SWEEP_ID": "only `wandb agent` starts runs of a W&B sweep",
    "WANDB_NAME": "it names one run, and this command has several; WANDB_RUN_GROUP names them all",
    "WANDB_RESUME": "the same command resumes a run",
    "WANDB_RESUME_FROM": "the same command resumes a run",
    "WANDB_FORK_FROM": "hearsay does not fork runs",
    "WANDB_DIR": "W&B's files are in the folder wandb of the results; results=FOLDER moves both",
}
"""Variables that W&B would apply to every run, and why hearsay ignores them."""
OF_RUNS = [f"WANDB_{name}" for name in ("PROJECT", "ENTITY", "NAME", "RUN_GROUP", "JOB_TYPE", "TAGS", "NOTES")]
"""Variables that take effect when hearsay writes a W&B run."""
MODES = {mode: mode for mode in ("online", "offline", "shared", "disabled")} | {"run": "online", "dryrun": "offline"}
"""Values of WANDB_MODE; the last two are from earlier versions of W&B."""


def mode() -> str:
    """Return WANDB_MODE if it is set, else online if the user is logged in, else offline."""
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
    """Return the mode in WANDB_MODE; None if it is unset. Unset an empty WANDB_MODE, which W&B rejects.

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
    """Return the server that W&B uses: from its environment, its settings file, or its default."""
    import wandb

    mode_of_environment()  # W&B rejects an empty one
    return str(wandb.setup().settings.base_url)


def has_agent() -> bool:
    """Return whether `wandb agent` has started this command."""
    return all(os.environ.get(name) for name in AGENTS[:2])


def ignored(alone: bool) -> set[str]:
    """Return the variables that W&B must not see; ``alone``: this command has one run."""
    service = "WANDB_SERVICE"  # W&B's process for another program, which ends with that program
    seen = {"WANDB_NAME", *(AGENTS[:2] if has_agent() else ())} if alone else set()
    return {*IGNORED, *AGENTS, service} - seen


def notices(alone: bool) -> list[str]:
    """Return a message for each ignored variable that the user has set."""
    names = ignored(alone) & {*os.environ} - ({"WANDB_DIR"} if has_agent() else set())
    return [f"{name} is ignored: {why}." for name, why in IGNORED.items() if name in names]


def notices_of_existing(count: int, why: str, alone: bool) -> list[str]:
    """Return a message if variables have no effect on ``count`` runs whose W&B runs exist; ``why`` has a remedy."""
    names = [name for name in OF_RUNS if os.environ.get(name) and name not in ignored(alone)]
    if not names or not count:
        return []
    verb = "is" if len(names) == 1 else "are"
    return [f"{', '.join(names)} {verb} ignored for {count} {'run' if count == 1 else 'runs'}: {why}"]
