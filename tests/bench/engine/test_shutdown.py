"""Preempted ranks all stop after the same step, and none waits forever."""

import queue
import random
import threading
import time

import pytest

from bench.engine.shutdown import ShutdownClient, ShutdownCoordinator


class Neighbors:
    """Ranks on a line, as threads; coupled ones exchange rows with their neighbors in every step."""

    def __init__(self, ranks: int, steps: int, chance: random.Random, coupled: bool) -> None:
        self.ranks, self.steps, self.coupled = ranks, steps, coupled
        self.messages: queue.Queue[tuple[int, dict]] = queue.Queue()
        self.clients = [
            ShutdownClient(lambda message, rank=rank: self.messages.put((rank, message))) for rank in range(ranks)
        ]
        self.rows = {(i, j): queue.Queue() for i in range(ranks) for j in (i - 1, i + 1) if 0 <= j < ranks}
        self.pace = [chance.uniform(0, 0.002) for _ in range(ranks)]

    def work(self, rank: int) -> None:
        for t in range(1, self.steps + 1):
            time.sleep(self.pace[rank])
            if self.coupled:
                others = [j for j in (rank - 1, rank + 1) if 0 <= j < self.ranks]
                for j in others:
                    self.rows[rank, j].put(t)
                for j in others:
                    assert self.rows[j, rank].get(timeout=20) == t
            if t < self.steps and self.clients[rank].after(t):
                self.messages.put((rank, {"left": t}))
                return
        self.messages.put((rank, {"done": True}))

    def order(self, message: dict) -> None:
        for client in self.clients:
            client.receive(message)

    def stop_after(self, seconds: float) -> dict[int, int]:
        """Return the step after which every rank has stopped."""
        for rank in range(self.ranks):
            threading.Thread(target=self.work, args=(rank,), daemon=True).start()
        time.sleep(seconds)
        coordinator = ShutdownCoordinator(self.ranks, self.steps, self.order)
        stopped: dict[int, int] = {}
        while len(stopped) < self.ranks:
            match self.messages.get(timeout=20):
                case rank, {"at": t}:
                    coordinator.at(rank, t)
                case rank, {"left": t}:
                    stopped[rank] = t
                case rank, {"done": True}:
                    coordinator.ended(rank)
                    stopped[rank] = self.steps
        return stopped


@pytest.mark.parametrize("coupled", [True, False])
@pytest.mark.parametrize("ranks", [1, 2, 7])
def test_all_stop_after_one_step(ranks, coupled):
    chance = random.Random(ranks)
    for _ in range(5):
        where = Neighbors(ranks, 100_000, chance, coupled).stop_after(chance.uniform(0, 0.05))
        assert len(set(where.values())) == 1
        assert where[0] < 100_000


def test_ranks_at_the_last_step_finish():
    for seconds in (0, 0.003, 0.006, 0.02, 0.1):
        where = Neighbors(3, 8, random.Random(3), True).stop_after(seconds)
        assert len(set(where.values())) == 1
    assert set(where.values()) == {8}


def test_ranks_do_not_wait_without_a_request():
    assert not ShutdownClient(lambda message: pytest.fail(str(message))).after(5)
