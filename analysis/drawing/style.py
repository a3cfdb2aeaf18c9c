"""Styles of the methods, the look of all figures, and their texts."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import matplotlib

matplotlib.use("Agg")

import seaborn as sns
from matplotlib.artist import Artist
from matplotlib.mathtext import MathTextParser
from matplotlib.text import Text

from analysis.drawing.palette import DASHES, SPARE, shade, shipped, spare
from analysis.results.labels import family, methods
from analysis.results.labels import metric_name as metric_name  # plug-ins import it from here
from analysis.results.results import Results
from bench.terminal.visible import visible

COLUMN, PAGE = 3.35, 6.9
"""Widths of a column and of the page of a two-column paper, in inches."""
INK = "#1f2328"


@dataclass(frozen=True)
class Style:
    label: str
    color: Any
    marker: str
    dash: Any = "-"
    width: float = 1.2  # points; a lower line is wider, so that it is visible below a coinciding one
    place: int = 0  # position among the methods of a figure
    many: bool = False  # whether the figure has more than CROWD methods

    @property
    def size(self) -> float:
        """Size of the markers, in points."""
        return max(MARKER * self.width, LEAST) * (1.4 if self.marker == "*" else 1.0)  # a star looks smaller

    @property
    def band(self) -> float:
        """Opacity of the band."""
        return FAINT if self.many else BAND


STYLES = {name: Style(name, c, marker, dash) for name, (c, dash, marker) in shipped().items()}
"""Styles by method. A plug-in may add the style of its method; other methods get a spare one."""
MANY, CROWD = 6, 12
"""Numbers of methods above which lines and markers are smaller, and above which panels are taller and bands fainter."""
WIDTHS = {0: (1.9, 1.0), MANY: (1.3, 0.8), CROWD: (0.9, 0.7)}
"""The widest and the thinnest line, by the number of methods above which they are used."""
MARKER = 2.9
"""Width of a marker, relative to the width of its line."""
LEAST = 3.2
"""The smallest width of a marker, in points."""
BAND, FAINT = 0.18, 0.05
"""Opacities of bands."""
NESTED = 16
"""Braces and commands of a formula: Matplotlib needs up to thirty Python frames for each, and Python allows 1000."""


def styles(algos: Iterable[str], results: Results | None = None) -> dict[str, Style]:
    """Return a style for every method, with the label and family that its runs declare.

    With ``results``, a method has the same style in all their figures.
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
    """Return the style of a variant of a method, with another shade, dash and marker. Number 0 is the method itself."""
    if number == 0:
        return style
    dash = DASHES[((DASHES.index(style.dash) if style.dash in DASHES else 0) + number) % len(DASHES)]
    marker = SPARE[(number - 1) % len(SPARE)]
    return replace(style, color=shade(style.color, number), marker=marker, dash=dash, place=style.place + number)


def use_paper_style() -> None:
    """Set the look of the figures that are drawn afterwards."""
    ticks = [(f"{axis}tick", kind) for axis in "xy" for kind in ("major", "minor")]
    sns.set_theme(
        context="paper",
        style="ticks",
        palette="colorblind",
        rc={
            "font.family": "serif",
            "font.serif": ["STIXGeneral", "DejaVu Serif"],
            "mathtext.fontset": "stix",
            **dict.fromkeys(("font.size", "axes.titlesize", "axes.labelsize"), 8),
            **dict.fromkeys(("xtick.labelsize", "ytick.labelsize"), 7),
            "legend.fontsize": 7.5,
            "legend.frameon": False,
            "legend.columnspacing": 1.3,
            "legend.handlelength": 3.4,
            "axes.linewidth": 0.6,
            **{f"{axis}.{kind}.width": 0.6 if kind == "major" else 0.4 for axis, kind in ticks},
            **{f"{axis}.{kind}.size": 3 if kind == "major" else 1.6 for axis, kind in ticks},
            "axes.grid": True,
            "grid.linewidth": 0.3,
            "grid.color": "#9aa0a633",
            "lines.linewidth": 1.2,
            "lines.markersize": 3.2,
            **dict.fromkeys(("axes.edgecolor", "axes.labelcolor", "text.color", "xtick.color", "ytick.color"), INK),
            "axes.facecolor": "none",
            "axes.titley": 1.0,  # nothing is above a panel; to look for it takes Matplotlib a fifth of the time
            "figure.facecolor": "white",
            "figure.constrained_layout.use": True,
            "axes.formatter.useoffset": False,
            **{"svg.hashsalt": "hearsay", "svg.fonttype": "path", "pdf.fonttype": 42, "ps.fonttype": 42},
        },
    )


def escape_texts(artist: Artist) -> None:
    """Draw texts with dollar signs literally if they are not valid formulas, which would make Matplotlib fail."""
    for text in artist.findobj(Text):
        if isinstance(text, Text) and (words := visible(text.get_text())):
            text.set_text(words)
            text.set_parse_math(_is_math(words))


@cache
def _is_math(text: str) -> bool:
    if "$" not in text:
        return True
    if text.count("{") + text.count("\\") > NESTED:
        return False
    try:
        for line in text.split("\n"):  # Matplotlib draws each line by itself
            MathTextParser("path").parse(line)
    except (ValueError, RuntimeError):
        return False
    return True
