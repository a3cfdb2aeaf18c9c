"""Leases that a stranger made."""

import json
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from bench.store import leases
from bench.store.leases import Lease

CHAINS = {
    "itself": {"a": "A", ".A": "A"},
    "cycle": {"a": "A", ".A": "B", ".B": "A"},
    "long cycle": {"a": "n0", **{f".n{i}": f"n{(i + 1) % 9}" for i in range(9)}},
    "chain": {"a": "n0", **{f".n{i}": f"n{i + 1}" for i in range(900)}},
}


@pytest.mark.parametrize("chain", CHAINS.values(), ids=CHAINS)
def test_forged_leases_that_name_each_other_are_inherited_once(tmp_path, monkeypatch, chain):
    monkeypatch.setattr(leases, "DEAD_S", 0.1)
    for name, holder in chain.items():
        (tmp_path / name).write_text(json.dumps({"name": holder, "beat": 1}))
    end, heirs = time.monotonic() + 3, []
    while not heirs and time.monotonic() < end:
        with ThreadPoolExecutor(8) as pool:
            heirs = [heir for heir in pool.map(Lease.take, [tmp_path / "a"] * 8) if heir]
        time.sleep(0.02)
    assert len(heirs) == 1
    assert not heirs[0].lost
    heirs[0].release()
