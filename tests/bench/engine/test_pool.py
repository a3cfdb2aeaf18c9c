"""Pools of ranks stay warm between runs."""

from contextlib import closing

import pytest

from bench.engine.engines import mean_and_max
from bench.engine.pool import Pool
from bench.store.record import COLUMNS
from tests.helpers.configs import Kept, config, rows

TIMES = {"compute_s", "comm_s", "eval_s", "wall_s"}


def on(pool: Pool, kept: Kept | None = None, **changes):
    kept = kept or Kept()
    engine = {"name": "mpi", "pool": changes.pop("warm", True)}
    pool.run([config(engine=engine, **changes)], kept)
    return kept.ends[0], kept.rows[0]


def same(ours, theirs, tolerance: float) -> None:
    assert [row["step"] for row in ours] == [row["step"] for row in theirs]
    for a, b in zip(ours, theirs, strict=True):
        for name in set(COLUMNS) - TIMES:
            expected = b[name] if b[name] is None else pytest.approx(b[name], rel=tolerance, abs=1e-25)
            assert a[name] == expected, name


@pytest.mark.thorough
def test_warm_and_cold_ranks_give_the_same_rows():
    with closing(Pool()) as pool:
        outcome, first = on(pool, told := Kept(), ranks=3, nodes=8)
        assert (outcome.state, outcome.step) == ("done", 40)
        for name, spent in told.facts[0]["seconds"].items():  # over all ranks; rows have the seconds of rank 0
            assert 0 < spent["mean"] <= spent["max"]
            assert spent["max"] >= first[-1][name]
        assert set(told.facts[0]["seconds"]) == TIMES
        ranks = pool._rank_pools["mpi", 3]
        _, again = on(pool, ranks=3, nodes=8)
        _, other = on(pool, ranks=3, nodes=8, algo="dsgt", topology="one_peer_exponential")
        wild = {"name": "dsgd", "schedule": "constant", "eta": 1e200}
        diverged, _ = on(pool, ranks=3, nodes=8, algo=wild)
        assert (diverged.state, diverged.step) == ("nonfinite", 10)
        assert pool._rank_pools["mpi", 3] is ranks
        same(first, again, 0)
        same(first, rows(config(nodes=8))[0], 1e-10)
        same(other, rows(config(nodes=8, algo="dsgt", topology="one_peer_exponential"))[0], 1e-10)
    assert ranks.launched.ended(0) == 0
    with closing(Pool()) as pool:
        _, cold = on(pool, ranks=3, nodes=8, warm=False)
        assert pool._rank_pools == {}
        same(first, cold, 0)


def test_mean_and_max_of_the_seconds_of_ranks():
    ranks = [{"comm_s": 1.0, "wall_s": 4.0}, {"comm_s": 3.0, "wall_s": 4.0}, {"comm_s": 2.0, "wall_s": 10.0}]
    assert mean_and_max(ranks) == {"comm_s": {"mean": 2.0, "max": 3.0}, "wall_s": {"mean": 6.0, "max": 10.0}}
