"""Submit a sweep or an experiment to SLURM, as one array job of workers.

The workers share the runs. Runs that are done are not queued. A worker that
reaches its time limit or is preempted is queued again and resumes its runs.
conf/site/NAME.yaml sets the resources of a worker; see conf/site/example.yaml.

Examples:
  python bench/submit.py experiment=example workers=4 --dry-run
  python bench/submit.py experiment=example workers=4 --wait
  python bench/submit.py algo=dnasa,dsgt seed=0,1 workers=2 site.time=2:00:00
"""

from __future__ import annotations

import shlex
import shutil
import signal
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    from bench.terminal.command import begin

    begin()

from bench.base import preemption
from bench.base.errors import UserError
from bench.base.registry import say_broken_plugins
from bench.config.source import source_of
from bench.store.record import FINAL
from bench.sweep.cluster import order as orders
from bench.sweep.cluster import site as sites
from bench.sweep.cluster import slurm
from bench.sweep.cluster.estimate import estimate, sentence
from bench.sweep.cluster.follow import follow
from bench.sweep.cluster.order import Order
from bench.sweep.cluster.site import Site
from bench.sweep.cluster.tickets import Ticket, new_folder, queue_lines, tickets
from bench.sweep.gather import gather, sweep_name
from bench.sweep.groups import Share, batches, name_of
from bench.sweep.preflight import checked_for_elsewhere
from bench.sweep.states import show_found, states_of
from bench.sweep.sweep import about_wandb
from bench.terminal.command import command
from bench.terminal.console import Console
from bench.terminal.parser import command_parser
from bench.terminal.table import show_table

SCRIPT, WORKERS = "worker.sh", "workers="


def send(order: Order, workers: int, site: Site, results: Path) -> tuple[str, Path]:
    """Queue the workers; return the number of the array job and the folder with its files."""
    folder = new_folder(results)
    try:
        order.keep(folder)
        (folder / SCRIPT).write_text(slurm.script(folder, site.setup or [], site.restarts), encoding="utf-8")
        job = slurm.submit(folder / SCRIPT, slurm.options(folder, workers, site.words()))
    except BaseException:
        shutil.rmtree(folder)
        raise
    Ticket(job, workers, tuple(config.run_id for config in order.configs)).keep(folder)
    return job, folder


def wait_for(job: str, order: Order, runs: Path, console: Console) -> None:
    """Follow an array job until its runs have ended, or until no job computes them any more."""
    ours = {config.run_id for config in order.configs}
    jobs = [ticket.job for ticket in tickets(runs.parent) if ours & set(ticket.runs)]

    def stands() -> str | None:
        found = [task for task in slurm.tasks(jobs) if task.job == job or task.state == "RUNNING"]
        return f"Queue: {slurm.summary(found)}." if any(not task.over for task in found) else None

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        follow(order, runs, console, stands)
    except KeyboardInterrupt:
        once = ", without force=true," if any(config.force for config in order.configs) else ""
        console.print(
            f"The jobs continue. scancel {job} ends them. Repeat the command with --wait{once} to follow them again."
        )
        raise


@command
def main() -> int:
    if sys.argv[1:2] == ["--work"]:
        if len(sys.argv) != 3:
            raise UserError("--work needs one folder of an order. Only the jobs of a queue use it.")
        preemption.listen()
        say_broken_plugins()
        return orders.work(orders.read(Path(sys.argv[2])))
    parser = command_parser(__doc__, config=True)
    parser.add_argument(
        "words",
        nargs="*",
        metavar="SETTING=VALUE",
        help="settings of the runs, as for run.py (see python bench/run.py --help); workers=N: number of workers, "
        "required except with --dry-run; site=NAME: use conf/site/NAME.yaml (default: conf/site/default.yaml, if there "
        "is one); site.KEY=VALUE: set one key of the site",
    )
    parser.add_argument("--dry-run", action="store_true", help="print what would be queued, and queue nothing")
    parser.add_argument(
        "--wait", action="store_true", help="follow the runs until they end; the exit code is that of run.py"
    )
    parser.add_argument(
        "-m", "--multirun", action="store_true", help="no effect: lists of values are always a sweep here"
    )
    given = parser.parse_intermixed_args()
    console = Console(width=None if sys.stdout.isatty() else 140)
    errors = Console(stderr=True, soft_wrap=True)
    say_broken_plugins()
    source, words = source_of(given).divide(given.words)
    requested, words = workers_of(words, given.dry_run)
    words, site = sites.of_command(words, source)
    configs, skipped = gather(words, checked_for_elsewhere, errors, source)
    for remark in about_wandb(configs, elsewhere=True):
        errors.print(remark)
    runs = orders.one_folder(configs) / "runs"
    share = Share(requested, site.cpus or 1, site.bytes())
    order = orders.make(configs, sweep_name(words, source), lambda todo: batches(todo, share))
    done = len(configs) - len(order.configs)
    workers = min(requested, -(-len(order.groups) // order.jobs))
    if given.dry_run:
        show_table(console, list(states_of(runs, configs).values()))
    console.print(f"{len(configs)} configuration{'s' * (len(configs) != 1)}, {done} of them done.")
    if not order.groups:
        return int(bool(skipped))
    groups, made = len(order.groups), len(order.configs)
    console.print(
        f"{made} to compute, in {groups} group{'s' * (groups != 1)}, by {workers} worker{'s' * (workers != 1)}"
        f"{f' with {order.jobs} groups at a time' * (order.jobs > 1)}."
    )
    console.print(sentence(estimate(order.configs, runs), workers))
    if given.dry_run:
        for group in filter(lambda group: len(group) > 1, order.groups):
            console.print(f"  {name_of(group)}")
        options = slurm.options(runs.parent / "queue", workers, site.words())
        console.print(f"Nothing was queued. Options for SLURM: {' '.join(site.words())}")
        if site == Site():
            console.print("No site is set, and conf/site/default.yaml is missing. The cluster's defaults apply.")
        if not any(word.startswith(WORKERS) for word in given.words):
            console.print(f"{WORKERS}{requested} is the default of a dry run.")
        try:
            console.print(f"SLURM says: {slurm.expected(options)}", soft_wrap=True)
        except slurm.NoSlurm as error:
            console.print(f"SLURM is not available. {error}", soft_wrap=True)
        return int(bool(skipped))
    job, folder = send(order, workers, site, runs.parent)
    console.print(f"Queued as job {job}. The output of the workers is in {folder}.", soft_wrap=True)
    if not given.wait:
        console.print(
            f"python bench/status.py {shlex.quote(str(runs.parent))} shows the progress; scancel {job} ends the job."
        )
        return int(bool(skipped))
    wait_for(job, order, runs, console)
    console.print()
    found = states_of(runs, configs)
    show_found(console, runs, found, list(found.values()))
    for line in queue_lines(runs.parent, found, only=True):
        console.print(line, soft_wrap=True)
    others = orders.outdated(order)
    for name, reason in others.items():
        console.print(
            f"{name} was computed with {reason}. Add stale=rerun to repeat it, or stale=keep to use it.",
            markup=False,
            soft_wrap=True,
        )
    return int(any(run["state"] not in FINAL for run in found.values()) or bool(skipped or others))


def workers_of(words: list[str], dry: bool = False) -> tuple[int, list[str]]:
    """Return the number of workers and the other words. A dry run has one worker by default."""
    typed = [word.partition("=")[2] for word in words if word.startswith(WORKERS)] or ["1"] * dry
    if not typed or not typed[-1].isdecimal() or int(typed[-1]) < 1:
        got = f", got {typed[-1]!r}" if typed else ""
        raise UserError(f"workers must be a whole number of at least 1{got}. Add workers=8.")
    return int(typed[-1]), [word for word in words if not word.startswith(WORKERS)]


if __name__ == "__main__":
    sys.exit(main())
