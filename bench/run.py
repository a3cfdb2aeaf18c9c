"""Run one configuration, a sweep, or an experiment.

python bench/run.py algo=dnasa dataset=synthetic steps=5000 seed=1
python bench/run.py -m algo=dnasa,dsgt topology=ring,complete
python bench/run.py experiment=example
"""

from __future__ import annotations

import os
import shlex
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

if __name__ == "__main__":  # ours before any installed package that is also called datasets or analysis
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    from bench.terminal.command import begin

    begin()

import hydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from bench import __version__
from bench.base import leaving
from bench.base.errors import UserError
from bench.base.leaving import Left
from bench.base.registry import broken_plugins, say_broken_plugins
from bench.config import flags
from bench.config.compose import HYDRA_ERRORS, prepared, sentence
from bench.config.flags import is_hydras
from bench.config.names import CONF
from bench.config.plan import Make, of_command, plan, same_run_twice, unique
from bench.config.run_config import RunConfig
from bench.config.source import CONFIG, USUAL, Source, source_of, used
from bench.status import show_found, states_of
from bench.store.record import FINAL
from bench.sweep.cluster import order as orders
from bench.sweep.cluster.follow import follow
from bench.sweep.cluster.sent import Sent
from bench.sweep.cluster.tickets import new_folder
from bench.sweep.cluster.worker import work
from bench.sweep.preflight import checked, checked_for_elsewhere
from bench.sweep.sweep import about_wandb, run_all
from bench.terminal.command import INTERRUPTED, command
from bench.terminal.console import Console
from bench.terminal.progress import counting

collected: list[RunConfig] = []
left_out: Counter[str] = Counter()
"""Combinations of a sweep that were refused, by reason."""


@hydra.main(version_base="1.3", config_path=str(CONF), config_name=CONFIG)
def task(config: DictConfig) -> None:
    """A configuration on Hydra's own way: collected here, or, with a launcher that sends it elsewhere, run there."""
    here = HydraConfig.get()
    if "order" not in config:
        collected.extend(plan(here.overrides.task, checked, str(here.job.config_name)))
    else:
        job(Path(config.order), config.place)


def job(folder: Path, place: int) -> None:
    """One run of an order, where a launcher has sent it."""
    leaving.listen()
    try:
        failed = work(orders.read(folder), [place])
    except Left as left:
        leaving.hand_on()  # a queue's own program knows how to start this job again
        raise UserError("It was interrupted by a signal.") from left
    if failed and os.environ.get("SUBMITIT_EXECUTOR") == "slurm":
        raise SystemExit(failed)  # so that SLURM, too, calls it failed
    if failed:
        raise UserError("The run failed; its log says why.")


def sweep_name(words: Sequence[str], source: Source = USUAL) -> str:
    """The experiment, if nothing else was typed; else all that was, as a shell takes it."""
    typed = [word for word in words if "=" in word and not word.startswith(("-", "hydra", "results", "tracker"))]
    if len(typed) == 1 and not source.flags and typed[0].startswith("experiment="):
        return typed[0].partition("=")[2]
    return shlex.join([*source.flags, *typed]) or "defaults"


def gather(
    words: Sequence[str], several: bool, errors: Console, make: Make = checked, source: Source = USUAL
) -> list[RunConfig]:
    """Every configuration of the command: the whole sweep is known before its first run starts."""
    if any(is_hydras(word) for word in words):
        through_hydra(words, ["-m"] if several else [], source)
        return collected
    with counting(errors, "composing {} of {} configurations") as say:
        runs = of_command(words, make, several, say, left_out, source)
    if left_out:
        errors.print(f"{left_out.total()} of {left_out.total() + len(runs)} configurations cannot be and are left out:")
        for reason, times in left_out.items():
            errors.print(f"  {reason}{f' ({times} runs)' * (times > 1)}")
    return runs


def through_hydra(words: Sequence[str], flags: Sequence[str], source: Source) -> None:
    """Hydra's own ``main``, with its flags after all settings, on both sides of which it takes none."""
    source, words = prepared(words, source)
    sys.argv[1:] = [*words, *flags, f"--config-path={source.main}", f"--config-name={source.name}"]
    with used(source), tempfile.TemporaryDirectory() as scratch:  # Hydra insists on a folder for its own notes
        OmegaConf.register_new_resolver("scratch", lambda: scratch, replace=True)
        task()


def show(words: Sequence[str], flags: Sequence[str], source: Source) -> int:
    """What Hydra has to show: a configuration, its help."""
    try:
        through_hydra(words, flags, source)
    except ValueError as error:  # what it says of flags that do not go together
        raise UserError(f"{' '.join([*flags, *words])}: {error}.") from error
    return 0


def elsewhere(words: Sequence[str], source: Source, console: Console, errors: Console) -> int:
    """A job per configuration that is not done, sent off by one of Hydra's launchers; at the end the table of all."""
    hydras, ours = ([word for word in words if is_hydras(word) == its] for its in (True, False))
    configs = unique(gather(ours, True, errors, checked_for_elsewhere, source))
    for remark in about_wandb(configs, elsewhere=True):
        errors.print(remark)
    runs = orders.one_folder(configs) / "runs"
    order = orders.make(configs, sweep_name(ours, source), orders.one_by_one)
    sent = None
    if order.groups:
        folder = new_folder(runs.parent)
        order.keep(folder)
        places = ",".join(map(str, range(len(order.groups))))
        task_words = [f"results='{runs.parent}'", f"+order='{folder}'", f"+place={places}"]
        sent = Sent(lambda named: through_hydra([*task_words, *hydras, *named], ["-m"], source), hydras, folder.name)
        try:
            follow(order, runs, console, sent.stands)
        except KeyboardInterrupt:
            if sent.name:
                errors.print(f"The jobs go on. scancel --name={shlex.quote(sent.name)} ends them.")
            raise
        if isinstance(sent.error, HYDRA_ERRORS):
            raise sent.error
    console.print()
    found = states_of(runs, configs)
    show_found(console, runs, found, list(found.values()))
    console.print(f"Results: {runs}", markup=False, soft_wrap=True)
    undone = [name for name, run in found.items() if run["state"] not in FINAL]
    lost = [name for name in undone if found[name]["state"] != "failed"]
    if sent and sent.error is not None and lost:
        errors.print(f"{len(lost)} of the jobs ended before their run was done: {sent.reason()}")
    if lost:
        errors.print(f"What jobs say is in {runs.parent / 'submitit'}.")
    return int(bool(undone or left_out))


def leave(errors: Console) -> int:
    """Ended by a signal, in good order: the exit code is that of the signal, as shells have it."""
    number = leaving.asked() or signal.SIGTERM
    errors.print(f"Interrupted by {number.name}. The same command goes on where this one stopped.")
    return 128 + number


@command
def main() -> int:
    os.environ["HYDRA_FULL_ERROR"] = "1"  # let errors reach us, to be said in one sentence
    if "--version" in sys.argv[1:]:
        print(f"hearsay {__version__}")
        return 0
    console = Console(width=None if sys.stdout.isatty() else 140, highlight=False)
    errors = Console(stderr=True, soft_wrap=True, highlight=False, markup=False)
    given = flags.read(sys.argv[1:])
    words, source = given.words, USUAL
    try:
        say_broken_plugins()
        source, words = source_of(given.values).divide(words)
        if given.shows:
            return show(words, given.shows, source)
        launcher = flags.launcher_of(words, source)
        if launcher and not given.several:
            raise UserError(f"{launcher} sends every configuration of a sweep off as a job, and needs -m for that.")
        if launcher:
            signal.signal(signal.SIGTERM, signal.default_int_handler)
            return elsewhere(words, source, console, errors)
        leaving.listen()
        runs = gather(words, given.several, errors, source=source)
        if note := same_run_twice(runs):
            errors.print(note)
        code = run_all(unique(runs), console, sweep_name(words, source)) if runs else 0
        if left_out:
            were = "configuration was" if left_out.total() == 1 else "configurations were"
            errors.print(f"{left_out.total()} {were} left out, for the reasons said at the beginning.")
        for plugin in broken_plugins:
            errors.print(f"Plug-in '{plugin}' was left out, for the reason said at the beginning.")
        return code or int(bool(left_out))
    except UserError as error:
        errors.print(str(error))
    except HYDRA_ERRORS as error:
        errors.print(sentence(error, words, source))
    except Left:
        return leave(errors)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        errors.print("Interrupted. The same command goes on where this one stopped.")
        return INTERRUPTED
    return 2


if __name__ == "__main__":
    sys.exit(main())
