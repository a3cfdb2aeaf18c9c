"""Every fault: a few times in make test, what is too long for it in make thorough, all of them often in make faults."""

import pytest

from tests.faults.table import discover

FAULTS = discover()


def check(name, trials, folder):
    if lacking := FAULTS[name].lacking():
        pytest.skip(lacking)
    seen = FAULTS[name].run(trials, folder)
    assert seen.total() == trials
    assert set(seen) <= set(FAULTS[name].allowed), seen


@pytest.mark.parametrize("name", [name for name, fault in FAULTS.items() if fault.quick])
def test_a_few_times(name, tmp_path):
    check(name, FAULTS[name].quick, tmp_path)


@pytest.mark.thorough
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", [name for name, fault in FAULTS.items() if fault.often])
def test_what_takes_longer(name, tmp_path):
    check(name, FAULTS[name].often, tmp_path)
