"""The number of threads follows from the size of one run."""

import torch

from bench.engine import stacked
from tests.helpers.configs import Kept, config


class Watch(Kept):
    """Notes the number of threads in the steps."""

    def __init__(self, replicas=1):
        super().__init__(replicas)
        self.threads = set()

    def tick(self, t):
        self.threads.add(torch.get_num_threads())


def used(*configs) -> tuple[set[int], int]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        watch = Watch(len(configs))
        stacked.run(configs, watch)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    return watch.threads, watch.facts[0]["threads"]


def test_small_runs_take_one_thread_alone_and_in_a_group():
    assert used(config()) == ({1}, 1)
    assert used(*(config(seed=seed) for seed in range(3))) == ({1}, 1)


def test_large_runs_take_all_threads():
    large = {"name": "planted", "features": 784, "samples": 600, "tests": 20, "classes": 10}
    assert used(config(dataset=large, model="mlp", nodes=8, batch_size=32, steps=2, eval_every=2)) == ({2}, 2)
