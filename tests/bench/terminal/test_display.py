"""What is seen of a sweep while it runs."""

import io

import pytest
from rich.console import Console

from bench.terminal.display import Display


@pytest.mark.parametrize("width", [80, 120])
def test_no_number_of_a_running_group_is_cut(width):
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=True, color_system=None)
    display, group = Display(console, [60000]), [object()]
    display.begin(group, "dnasa-one_peer_exponential-fashion_mnist-s0-d3350508 and 11 more", 60000, 47533)
    display._bars.update(0, news="loss 0.3222  accuracy 85.09 %  1275 steps/s")
    console.print(display._bars)
    assert "47533/60000 loss 0.3222  accuracy 85.09 %  1275 steps/s" in out.getvalue()
    assert max(map(len, out.getvalue().splitlines())) <= width
