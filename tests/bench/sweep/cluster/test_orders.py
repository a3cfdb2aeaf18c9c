"""Workers with one order: everything is made once, by whoever comes first, and nobody waits for another."""

import json
import threading
import time
from dataclasses import replace
from unittest.mock import Mock

import pytest
from rich.console import Console

from bench.store.files import LARGEST, SEAL, SEALED, read_json, sha256, write_json
from bench.sweep.cluster import order as orders
from bench.sweep.cluster import slurm
from bench.sweep.cluster.estimate import duration, estimate, sentence
from bench.sweep.cluster.follow import follow
from bench.sweep.cluster.order import Order, work
from bench.sweep.cluster.tickets import Ticket, new_folder, queue_lines, tickets
from bench.sweep.groups import Share, batches
from bench.sweep.sweep import run_all
from bench.sweep.workers import Executor
from tests.helpers.claims import QUIET
from tests.helpers.configs import config
from tests.helpers.mentions import mentions
from tests.helpers.run_folders import folders, state


@pytest.fixture
def runs(tmp_path):
    return [config(algo="dsgd", seed=seed, results=str(tmp_path)) for seed in range(4)]


def ordered(runs, workers=2):
    return orders.make(runs, "trial", lambda todo: batches(todo, Share(workers, 1)))


def starts(folder):
    return (folder / "log.txt").read_text().count(" starts: ")


def test_what_one_worker_has_made_another_leaves_alone(runs, tmp_path):
    folder = new_folder(tmp_path)
    ordered(runs).keep(folder)
    order = orders.read(folder)
    assert [[c.run_id for c in group] for group in order.groups] == [
        [c.run_id for c in runs[:2]],
        [c.run_id for c in runs[2:]],
    ]
    assert work(replace(order, groups=order.groups[1:])) == 0
    assert sorted(path.name for path in folders(tmp_path)) == sorted(c.run_id for c in runs[2:])
    assert work(order) == work(order) == 0
    assert [starts(path) for path in folders(tmp_path)] == [1] * 4
    assert {read_json(path / "manifest.json")["sweep"] for path in folders(tmp_path)} == {"trial"}
    assert ordered(runs).groups == []


def test_whoever_is_first_at_a_group_has_it_and_nobody_waits_for_the_end(runs, tmp_path, new_lock):
    order = ordered(runs)
    locks = [new_lock(tmp_path / ".locks" / run.run_id) for run in runs[:2]]
    assert locks[0].take()
    helper = threading.Timer(0.2, locks[1].take)  # another worker, who is still claiming its group
    helper.start()
    assert work(order) == 0
    helper.join()
    assert sorted(path.name for path in folders(tmp_path)) == sorted(c.run_id for c in runs[2:])
    for lock in locks:
        lock.release()  # it has died, and left them undone
    assert work(order) == 0
    assert [state(path)["state"] for path in folders(tmp_path)] == ["done"] * 4
    assert {read_json(path / "manifest.json")["replicas"] for path in folders(tmp_path)} == {2}


def test_what_has_failed_is_tried_once_and_what_is_forced_is_made_once(runs, tmp_path):
    huge = config(dataset={"name": "synthetic", "dimension": 10, "evaluation": 10**12}, results=str(tmp_path))
    order = ordered([huge])
    assert work(order) == 1
    log = folders(tmp_path)[0] / "log.txt"
    before = log.read_text()
    assert work(order) == 1  # another's failure, and no second try
    assert log.read_text() == before
    assert work(ordered([huge])) == 1  # a new order is one
    assert work(ordered(runs)) == 0
    time.sleep(0.01)
    made = [state(tmp_path / "runs" / c.run_id)["time"] for c in runs]
    forced = ordered([replace(c, force=True) for c in runs])
    assert work(forced) == 0
    again = [state(tmp_path / "runs" / c.run_id)["time"] for c in runs]
    assert all(new > old for new, old in zip(again, made, strict=True))
    assert work(forced) == 0
    assert [state(tmp_path / "runs" / c.run_id)["time"] for c in runs] == again


def interrupted(order, monkeypatch):
    """As a worker that is preempted at its first run."""
    with monkeypatch.context() as patch:
        patch.setattr(Executor, "_compute", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            work(order)


@pytest.mark.parametrize("how", [{}, {"stale": "rerun"}, {"force": True}], ids=["", "rerun", "force"])
def test_a_requeued_worker_does_not_take_a_run_of_another_source(runs, tmp_path, monkeypatch, how):
    order = ordered([replace(runs[0], **how)])
    interrupted(order, monkeypatch)
    assert work(ordered(runs[:1])) == 0  # another command
    (path,) = folders(tmp_path)
    write_json(path / "manifest.json", {**read_json(path / "manifest.json"), "fingerprint": "0123"})
    repeats = how == {"stale": "rerun"}
    assert work(order) == int(not repeats)
    assert (read_json(path / "manifest.json")["fingerprint"] != "0123") == repeats


def test_a_run_that_failed_in_another_command_is_tried(runs, tmp_path, monkeypatch):
    order = ordered(runs[:1])
    interrupted(order, monkeypatch)
    with monkeypatch.context() as patch:
        patch.setattr(Executor, "_compute", Mock(side_effect=ValueError("no such luck")))
        assert run_all(runs[:1], QUIET) == 1
    assert state(folders(tmp_path)[0])["state"] == "failed"
    assert work(order) == 0
    assert state(folders(tmp_path)[0])["state"] == "done"


@pytest.mark.parametrize("ahead_s", [600, -600])
def test_workers_on_a_host_with_another_clock(runs, tmp_path, monkeypatch, ahead_s):
    """Each order tries once what failed and makes once what is forced, also where two orders overlap."""
    huge = config(dataset={"name": "synthetic", "dimension": 10, "evaluation": 10**12}, results=str(tmp_path))
    monkeypatch.setattr(time, "time", lambda now=time.time: now() + there)

    def kept(configs):
        folder = new_folder(tmp_path)
        ordered(configs).keep(folder)
        return orders.read(folder)

    def times():
        return [state(tmp_path / "runs" / c.run_id)["time"] for c in runs]

    there = 0
    first, second, third = kept([huge]), kept([huge]), kept(runs)
    forced = [kept([replace(c, force=True) for c in runs]) for _ in range(2)]
    there = ahead_s
    assert [work(first), work(second)] == [1, 1]
    log = tmp_path / "runs" / huge.run_id / "log.txt"
    tried = log.read_text()
    assert [work(first), work(second)] == [1, 1]
    assert log.read_text() == tried
    assert work(third) == 0
    made = [times()]
    for order in (*forced, *forced):
        assert work(order) == 0
        made.append(times())
    assert made[2] == made[3] == made[4]
    assert all(len(set(moments)) == 3 for moments in zip(*made, strict=True))
    there = 0
    assert work(kept([huge])) == 1


def test_groups_are_cut_for_workers_and_no_further():
    seeds = [config(algo="dsgd", seed=seed) for seed in range(12)]
    assert [len(group) for group in batches(seeds)[0]] == [12]
    assert [len(group) for group in batches(seeds, Share(4, 1))[0]] == [3, 3, 3, 3]
    assert len(batches(seeds, Share(40, 1))[0]) == 12
    several = [config(algo=algo, seed=seed) for algo in ("dsgd", "dsgt", "dnasa") for seed in range(4)]
    assert [len(group) for group in batches(several, Share(3, 1))[0]] == [4, 4, 4]
    assert [len(group) for group in batches(several, Share(5, 1))[0]] == [2] * 6
    assert [len(group) for group in batches(seeds, Share(1, 1, 1.0))[0]] == [1] * 12  # of a node with one byte


def test_how_long_it_takes_is_judged_by_what_is_done(runs, tmp_path):
    place = tmp_path / "runs"
    assert sentence(estimate(runs, place), 2).startswith("No time estimate")
    assert work(ordered(runs)) == 0
    walls = [json.loads((path / "summary.json").read_text())["wall_s"] for path in folders(tmp_path)]
    longer = [replace(run, steps=10 * run.steps) for run in runs]
    found = estimate([*longer, config(dataset="digits")], place)
    assert (found.known, found.unknown) == (4, 1)
    assert 10 * 4 * min(walls) <= found.seconds <= 10 * 4 * max(walls)
    assert found.longest == pytest.approx(found.seconds / 4)
    assert sentence(found._replace(seconds=7200.0), 2).startswith("About 60 minutes per worker")
    assert "1 runs without estimate" in sentence(found, 2)
    assert sentence(found._replace(seconds=7200.0, longest=9000.0), 8).startswith("About 2.5 hours")  # of one run
    assert [duration(s) for s in (0.2, 40, 200, 9000)] == ["1 s", "40 s", "3 minutes", "2.5 hours"]


def test_a_damaged_order_is_refused(runs, tmp_path):
    folder = new_folder(tmp_path)
    Order([runs], 1, "trial", []).keep(folder)
    (folder / "order.json").write_text((folder / "order.json").read_text().replace('"dsgd"', '"dsgt"', 1))
    with pytest.raises(Exception, match="order"):
        orders.read(folder)


def test_a_queue_that_cannot_be_asked_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert queue_lines(tmp_path, {}) == []
    Ticket("17", 2, ("a", "b")).keep(new_folder(tmp_path))
    (line,) = queue_lines(tmp_path, {"a": {"state": "done"}})
    assert mentions(line, "job 17", "'squeue'")
    assert queue_lines(tmp_path, {"a": {"state": "done"}, "b": {"state": "nonfinite"}}) == []
    assert queue_lines(tmp_path, {"c": {"state": "missing"}}, only=True) == []
    (new_folder(tmp_path / "other") / "job.json").write_text('{"job": "2"}')
    assert queue_lines(tmp_path / "other", {}) == []


def test_tickets_are_in_the_order_of_the_queue_whatever_the_clocks_of_the_hosts_say(tmp_path):
    for job, when in (("9", "20270101-120000-a"), ("10", "20261231-120000-b")):
        (tmp_path / "queue" / when).mkdir(parents=True)
        Ticket(job, 1, ("a",)).keep(tmp_path / "queue" / when)
    assert [ticket.job for ticket in tickets(tmp_path)] == ["9", "10"]


@pytest.mark.parametrize("job", ["٣", "²", "1" * 21, "1,2", "--help", ""])
def test_a_ticket_without_a_job_number_is_ignored(tmp_path, job):
    Ticket(job, 1, ("a",)).keep(new_folder(tmp_path))
    assert tickets(tmp_path) == []


def test_a_queue_that_cannot_be_started_is_no_queue(tmp_path, monkeypatch):
    (tmp_path / "squeue").write_text("")  # not executable
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(slurm.NoQueue, match="squeue"):
        slurm.tasks(["1"])


def test_follows_what_changes_and_what_is_its_own(runs, tmp_path, monkeypatch, capsys):
    """Statuses of earlier orders are not news, from whatever clock their times are."""
    monkeypatch.setattr("bench.sweep.cluster.follow.LOOK_S", 0.0)
    assert work(ordered(runs[:2])) == 0
    monkeypatch.setattr(time, "time", lambda now=time.time: now() - 600)
    order = ordered([replace(c, force=True) for c in runs[:2]])
    assert work(replace(order, groups=order.groups[1:])) == 0
    follow(order, tmp_path / "runs", Console(width=140), lambda: None)
    said = capsys.readouterr().out.splitlines()[-1]
    assert said.startswith(f"[1/2] {runs[1].run_id}: done")


def test_a_queue_that_does_not_answer_is_asked_again(runs, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("bench.sweep.cluster.follow.ASK_S", 0.0)
    answers = iter([slurm.NoQueue("SLURM's squeue says: Socket timed out"), "Queue: 1 running.", None])

    def over():
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    follow(ordered(runs), tmp_path / "runs", Console(width=140), over)
    said = capsys.readouterr().out
    assert "squeue says: Socket timed out" in said
    assert "Queue: 1 running." in said
    assert next(answers, "asked to the end") == "asked to the end"


def test_what_slurm_would_replace_in_a_name_is_written_so_that_it_does_not(tmp_path):
    assert f"--output={tmp_path}/50%%j/%A_%a.txt" in slurm.options(tmp_path / "50%j", 1, [])


def test_a_ticket_that_would_take_much_memory_is_ignored(tmp_path):
    body = b'{"job": "1", "workers": 1, "runs": [],' + b" " * LARGEST
    (new_folder(tmp_path) / "job.json").write_bytes(body + SEAL + sha256(body).encode() + SEALED)
    assert tickets(tmp_path) == []


def test_an_order_may_be_larger_than_other_files(tmp_path):
    write_json(tmp_path / "order.json", {"name": " " * LARGEST, "groups": [], "jobs": 1, "varies": [], "id": "a"})
    assert len(orders.read(tmp_path).name) == LARGEST
