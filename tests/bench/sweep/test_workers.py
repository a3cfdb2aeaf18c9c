"""Groups of runs whose subsets fail or resume from different steps."""

from bench.store.run_folder import RunFolder
from bench.sweep import workers
from bench.sweep.sweep import run_all
from bench.sweep.workers import Executor
from tests.helpers.claims import QUIET
from tests.helpers.configs import config


def test_a_run_that_waits_to_be_computed_alone_stays_locked(tmp_path, monkeypatch):
    """Otherwise another thread takes it, and this one releases its lock."""
    configs = [config(results=str(tmp_path), seed=seed) for seed in range(4)]
    seen = []

    def compute(self, step, members, *_):
        if step and len(members) == 2:
            seen.append((len(self.waiting), [RunFolder(c).lock.held() for c in configs]))
        raise RuntimeError("killed")

    monkeypatch.setattr(workers, "resume_point", lambda run: (5, []) if run.config.seed > 1 else None)
    monkeypatch.setattr(Executor, "_compute", compute)
    assert run_all(configs, QUIET) == 1
    assert seen == [(0, [True] * 4)]
