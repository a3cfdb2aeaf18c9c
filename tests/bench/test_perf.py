"""The comparison of two measurements."""

from bench.perf import slower

TITLE = "steps"


def entries(**ratios):
    return {TITLE: [{"what": what, "ms": 1.0, "ratio": ratio} for what, ratio in ratios.items()]}


def test_lists_ratios_that_grew_by_more_than_a_tenth():
    before = {"machine": {}, **entries(floor=1.0, stacked=4.0, ranks=3.0, gone=1.0)}
    now = entries(floor=1.0, stacked=4.8, ranks=3.2, added=9.0)
    (line,) = slower(before, now)
    assert "stacked" in line
    assert "1.20" in line


def test_times_without_a_floor_are_not_compared():
    assert slower({TITLE: [{"what": "a", "ms": 1.0}]}, {TITLE: [{"what": "a", "ms": 9.0}]}) == []
