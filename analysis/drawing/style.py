"""How everything looks: one table for the methods, one size for a two-column paper."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import matplotlib

matplotlib.use("Agg")

import seaborn as sns

from analysis.drawing.palette import DASHES, SPARE, shade, shipped, spare
from analysis.results.labels import family, methods
from analysis.results.labels import metric_name as metric_name  # plug-ins import it from here
from analysis.results.results import Results

COLUMN, PAGE = 3.35, 6.9
"""Inches: the width of a column and of the page of a two-column paper."""
INK = "#1f2328"


@dataclass(frozen=True)
class Style:
    label: str
    color: Any
    marker: str
    dash: Any = "-"
    width: float = 1.2  # points; of lines that coincide, the one below shows as a rim
    place: int = 0  # among the methods of a figure
    many: bool = False  # whether these are a crowd

    @property
    def size(self) -> float:
        """Of its markers: of those that coincide, the ones below show too."""
        return max(MARKER * self.width, LEAST) * (1.4 if self.marker == "*" else 1.0)  # a star is thin

    @property
    def band(self) -> float:
        """How opaque its band is."""
        return FAINT if self.many else BAND


STYLES = {name: Style(name, c, marker, dash) for name, (c, dash, marker) in shipped().items()}
"""A plug-in may add the style of its own method; others get a spare one."""
MANY, CROWD = 6, 12
"""Methods beyond which their lines and markers are smaller, and beyond which panels are taller and bands fainter."""
WIDTHS = {0: (1.9, 1.0), MANY: (1.3, 0.8), CROWD: (0.9, 0.7)}
"""By the number of methods beyond which they are used: the widest and the thinnest line."""
MARKER = 2.9
"""Points that a marker is wide, of a line one point wide."""
LEAST = 3.2
"""Points below which one marker looks like another."""
BAND, FAINT = 0.18, 0.05
"""How much of what is below it a band covers."""

FILES = {"svg.hashsalt": "hearsay", "svg.fonttype": "path", "pdf.fonttype": 42, "ps.fonttype": 42}


def styles(algos: Iterable[str], results: Results | None = None) -> dict[str, Style]:
    """A style for every method: from the table or a spare one, with the label and family that its runs declare.

    With ``results`` a method looks the same in all their figures.
    """
    wanted = set(algos)
    labels = methods(wanted | set(results.runs["algo"]) if results else wanted, results)
    out = {algo: replace(STYLES[algo], label=label) for algo, label in labels.items() if algo in STYLES}
    known, present = ({a: (s.color, s.dash, s.marker) for a, s in some.items()} for some in (STYLES, out))
    others = {algo: family(algo, results) for algo in labels if algo not in STYLES}
    for algo, (color, dash, marker) in spare(others, known, present.values()).items():
        out[algo] = Style(labels[algo], color, marker, dash)
    chosen = [algo for algo in labels if algo in wanted]
    widest, thinnest = next(widths for beyond, widths in reversed(WIDTHS.items()) if len(chosen) > beyond or not beyond)
    step = (widest - thinnest) / max(1, len(chosen) - 1)
    many = len(chosen) > CROWD
    return {
        algo: replace(
            out[algo], width=widest - step * place if len(chosen) > 1 else out[algo].width, place=place, many=many
        )
        for place, algo in enumerate(chosen)
    }


def variant(style: Style, number: int) -> Style:
    """The same method in another form: another shade, dash and marker."""
    if number == 0:
        return style
    dash = DASHES[((DASHES.index(style.dash) if style.dash in DASHES else 0) + number) % len(DASHES)]
    marker = SPARE[(number - 1) % len(SPARE)]
    return replace(style, color=shade(style.color, number), marker=marker, dash=dash, place=style.place + number)


def use_paper_style() -> None:
    """Set the look; every figure is drawn after this."""
    sns.set_theme(
        context="paper",
        style="ticks",
        palette="colorblind",
        rc={
            "font.family": "serif",
            "font.serif": ["STIXGeneral", "DejaVu Serif"],
            "mathtext.fontset": "stix",
            "font.size": 8,
            "axes.titlesize": 8,
            "axes.labelsize": 8,
            "xtick.labelsize": 7,
            "ytick.labelsize": 7,
            "legend.fontsize": 7.5,
            "legend.frameon": False,
            "legend.columnspacing": 1.3,
            "legend.handlelength": 3.4,
            "axes.linewidth": 0.6,
            "xtick.major.width": 0.6,
            "ytick.major.width": 0.6,
            "xtick.minor.width": 0.4,
            "ytick.minor.width": 0.4,
            "xtick.major.size": 3,
            "ytick.major.size": 3,
            "xtick.minor.size": 1.6,
            "ytick.minor.size": 1.6,
            "axes.grid": True,
            "grid.linewidth": 0.3,
            "grid.color": "#9aa0a633",
            "lines.linewidth": 1.2,
            "lines.markersize": 3.2,
            "axes.edgecolor": INK,
            "axes.labelcolor": INK,
            "text.color": INK,
            "xtick.color": INK,
            "ytick.color": INK,
            "axes.facecolor": "none",
            "figure.facecolor": "white",
            "figure.constrained_layout.use": True,
            "axes.formatter.useoffset": False,
            **FILES,
        },
    )
