"""Run one configuration, a sweep, or an experiment.

python bench/run.py algo=dnasa dataset=synthetic steps=5000 seed=1
python bench/run.py -m algo=dnasa,dsgt topology=ring,complete
python bench/run.py experiment=example
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from pathlib import Path

if __name__ == "__main__":  # ours before any installed package that is also called datasets or analysis
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    from bench.command import begin

    begin()

import hydra
from hydra.conf import HydraConf
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from rich.console import Console

from bench.command import INTERRUPTED, command
from bench.compose import CONF, HYDRA_ERRORS, SEARCHPATH, sentence, with_plugins
from bench.config import RunConfig
from bench.plan import plan, same_run_twice, unique
from bench.registry import UserError, broken_plugins
from bench.sweep import run_all

collected: list[RunConfig] = []
names: list[str] = []
refused: list[str] = []


@hydra.main(version_base="1.3", config_path=str(CONF), config_name="config")
def task(config: DictConfig) -> None:
    """Collect: the whole sweep is known before its first run starts.

    Launchers that send tasks elsewhere cannot collect; there each task runs its own configuration.
    """
    here = HydraConfig.get()
    searchpath = [word for word in here.overrides.hydra if word.startswith(SEARCHPATH)]
    typed = [*here.overrides.task, *searchpath]
    if here.mode == RunMode.MULTIRUN and not here.launcher._target_.endswith(".BasicLauncher"):
        if run_all(unique(plan(config, typed)), Console(width=140, highlight=False), sweep_name(here)):
            raise UserError(f"A run of the job {here.job.override_dirname} failed; its log says why.")
        return
    names[:] = [sweep_name(here)]
    try:
        collected.extend(plan(config, typed))
    except UserError as error:
        refused.append(str(error))


def sweep_name(here: HydraConf) -> str:
    """The experiment, or what was typed."""
    words = [word for word in sys.argv[1:] if "=" in word and not word.startswith(("hydra", "results", "tracker"))]
    return here.runtime.choices.get("experiment") or " ".join(words) or "defaults"


@command
def main() -> int:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    os.environ["HYDRA_FULL_ERROR"] = "1"  # let errors reach us, to be said in one sentence
    for flag in {"-m", "--multirun"} & set(sys.argv):  # Hydra wants it before the overrides, people put it anywhere
        sys.argv.remove(flag)
        sys.argv.insert(1, flag)
    sys.argv[1:] = with_plugins(sys.argv[1:])
    console = Console(width=None if sys.stdout.isatty() else 140, highlight=False)
    errors = Console(stderr=True, soft_wrap=True, highlight=False, markup=False)
    try:
        with tempfile.TemporaryDirectory() as scratch:  # Hydra insists on a folder for its own notes
            OmegaConf.register_new_resolver("scratch", lambda: scratch, replace=True)
            task()
        for name, reason in broken_plugins.items():
            errors.print(f"Plug-in '{name}' is left out, it cannot be imported: {reason}")
        if refused:
            raise UserError("\n".join(dict.fromkeys(refused)))
        if note := same_run_twice(collected):
            errors.print(note)
        return run_all(unique(collected), console, names[0]) if collected else 0
    except UserError as error:
        errors.print(str(error))
    except HYDRA_ERRORS as error:
        errors.print(sentence(error, sys.argv[1:]))
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        errors.print("Interrupted. The same command goes on where this one stopped.")
        return INTERRUPTED
    return 2


if __name__ == "__main__":
    sys.exit(main())
