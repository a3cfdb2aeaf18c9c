"""Published results, as hollow markers over our own."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from analysis.drawing.style import INK, Style
from analysis.figures import overlay
from reproduction.study import published

ENTRY = Line2D([], [], color=INK, ls="", marker="o", mfc="none", label="published (hollow; η scaled differently)")
NOTE = (
    "hollow markers show published results where the paper has this setting; the published result of D-NASA is at the "
    "right edge; the published code scales η differently, so compare accuracies and shapes, not positions on the x axis"
)


@overlay(ENTRY, NOTE)
def draw(ax: Axes, key: dict[str, Any], look: dict[str, Style], metric: str, option: str) -> bool:
    if (metric, option) != ("test_accuracy", "eta"):
        return False
    table = published.rows_of_setting(key["dataset"], key["topology"], key["steps"])
    for algo, style in look.items():
        theirs = table[table["algo"] == algo]
        if algo == "dnasa":
            theirs = published.of_dnasa(table).assign(eta=1.0)  # at the right edge of the panel
        if theirs.empty:  # matplotlib draws an empty line that is not clipped in the corner
            continue
        hollow = {"ls": "", "mfc": "none", "mec": style.color, "mew": 0.6, "ms": 3.6, "zorder": 1}
        across = ax.get_yaxis_transform() if algo == "dnasa" else ax.transData
        ax.plot(theirs["eta"], theirs["test_accuracy"], marker=style.marker, clip_on=False, transform=across, **hollow)
    return not table.empty
