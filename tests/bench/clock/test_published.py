"""The clock and the tape against the published epoch times of SWIFT and D-SGD with a slow node."""

import pytest

from benchmarks.slow_node import main, predicted, published

MEASURED = published()


@pytest.mark.parametrize(("method", "slow"), MEASURED)
def test_epoch_times_are_close_to_the_published_ones(method, slow):
    wanted = MEASURED[method, slow]
    node_0, others = predicted(MEASURED, method, slow)
    most = 0.065 if method == "dsgd" else 0.16
    assert node_0 == pytest.approx(wanted["wall_s_slow_node"], rel=most)
    assert others == pytest.approx(wanted["wall_s_others"], rel=most)


def test_a_slow_node_delays_all_of_dsgd_and_only_itself_in_swift():
    for method, all_wait in (("dsgd", True), ("swift", False)):
        (_, alone), (slow, others) = (predicted(MEASURED, method, factor) for factor in (1, 4))
        assert slow == pytest.approx(alone + 3 * MEASURED[method, 1]["compute_s"], rel=0.01)
        assert others == pytest.approx(slow if all_wait else alone, rel=0.01)


def test_the_command_prints_a_row_for_each_time(capsys):
    main()
    assert len(capsys.readouterr().out.splitlines()) == 2 + 2 * len(MEASURED)
