"""Progress of a sweep in a terminal."""

import io

import pytest

from bench.terminal.console import Console
from bench.terminal.display import Display


@pytest.mark.parametrize("width", [80, 120])
def test_numbers_of_a_running_group_are_not_cut(width):
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=True, color_system=None)
    display, group = Display(console, [60000]), [object()]
    display.begin(group, "dnasa-one_peer_exponential-fashion_mnist-s0-d3350508 and 11 more", 60000, 47533)
    display._bars.update(0, news="loss 0.3222  accuracy 85.09 %  1275 steps/s")
    console.print(display._bars)
    assert "47533/60000 loss 0.3222  accuracy 85.09 %  1275 steps/s" in out.getvalue()
    assert max(map(len, out.getvalue().splitlines())) <= width


def test_bar_is_full_when_all_runs_have_ended():
    """With earlier runs, a group that ends early, and a group whose runs are repeated one by one."""
    console = Console(file=io.StringIO(), width=100, force_terminal=True, color_system=None)
    with Display(console, [100] * 5) as display:

        def percentage():
            return display._sweep.tasks[0].percentage

        display.end("before", "done", "done before", 100)
        assert percentage() == 20
        pair, failing = [object(), object()], [object(), object()]
        display.begin(pair, "pair", 100, 0)
        display.tick(pair, 50)
        assert percentage() == 40
        display.leave(pair)
        for name in ("one", "two"):
            display.end(name, "nonfinite", "nonfinite at step 60", 100)
        assert percentage() == 60
        display.begin(failing, "failing", 100, 10)
        display.leave(failing)
        for alone in failing:
            display.begin([alone], "alone", 100, 0)
            display.leave([alone])
            display.end("alone", "done", "done at step 100", 100)
        assert percentage() == 100
