"""A small figure of two curves over the steps as SVG, in the colors of the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 560, 240, 52, 12, 10, 34
DECADES = 12
"""The largest range of values that is shown; smaller values lie on the lower edge."""


def plot(steps: Sequence[int], curves: dict[str, Sequence[float]]) -> str:
    """Return the figure; the values are on a logarithmic axis, and values that are not positive are left out."""
    values = [value for curve in curves.values() for value in curve if 0 < value < math.inf]
    if not values:
        return ""
    top = math.ceil(math.log10(max(values)))
    bottom = min(top - 1, max(math.floor(math.log10(min(values))), top - DECADES))
    last = max(*steps, 1)

    def x(step: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * step / last

    def y(value: float) -> float:
        part = (math.log10(max(value, 10.0**bottom)) - bottom) / (top - bottom)
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * min(part, 1.0)

    every = max(1, math.ceil((top - bottom) / 6))
    grid = [
        f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(10.0**k):.1f}" y2="{y(10.0**k):.1f}"/>'
        f'<text x="{LEFT - 6}" y="{y(10.0**k) + 4:.1f}" text-anchor="end">10'
        f'<tspan dy="-5" font-size="9">{k}</tspan></text>'
        for k in range(bottom, top + 1, every)
    ]
    grid += [
        f'<text x="{x(step):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{step:g}</text>'
        for step in (0, last / 2, last)
    ]
    grid.append(f'<text x="{x(last / 2):.1f}" y="{HEIGHT - 4}" text-anchor="middle">step</text>')
    lines = []
    for number, (name, curve) in enumerate(curves.items()):
        shown = [(x(step), y(value)) for step, value in zip(steps, curve, strict=True) if 0 < value < math.inf]
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in shown)
        lines.append(f'<polyline class="curve{number}" points="{points}"><title>{escape(name)}</title></polyline>')
    label = escape(" and ".join(curves))
    return (
        f'<svg class="plot" role="img" aria-label="{label} over the steps" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'xmlns="http://www.w3.org/2000/svg">{"".join(grid)}{"".join(lines)}</svg>'
    )
