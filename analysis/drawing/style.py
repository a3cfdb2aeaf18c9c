"""How everything looks: one table for the methods, one size for a two-column paper."""

from __future__ import annotations

import itertools
import re
import zlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import matplotlib

matplotlib.use("Agg")

import seaborn as sns
from matplotlib.colors import to_rgb

from analysis.results.results import Results

COLUMN, PAGE = 3.35, 6.9
"""Inches: the width of a column and of the page of a two-column paper."""
INK = "#1f2328"
PALETTE = [tuple(colour) for colour in sns.color_palette("colorblind")]


@dataclass(frozen=True)
class Style:
    label: str
    colour: Any
    marker: str
    dash: Any = "-"
    width: float = 1.2  # points; of lines that coincide, the one below shows as a rim
    place: int = 0  # among the methods of a figure
    many: bool = False  # whether these are a crowd

    @property
    def size(self) -> float:
        """Of its markers: of those that coincide, the ones below show too."""
        return max(MARKER * self.width, LEAST)

    @property
    def band(self) -> float:
        """How opaque its band is."""
        return FAINT if self.many else BAND


STYLES = {
    "dnasa": Style("D-NASA", PALETTE[3], "o", (0, (4, 1.6))),
    "dsgd": Style("D-SGD", PALETTE[0], "s"),
    "dsgt": Style("D-SGT", PALETTE[2], "^"),
    "dasagt": Style("D-ASAGT", PALETTE[4], "D"),
    "d2": Style("D²", PALETTE[1], "v"),
}
"""A plug-in may add the style of its own method; others get a spare one, by their names."""
MORE = ("#a983ea", "#8a8a00", "#e75480", "#1f6f6b", "#7a4a2b", "#9bc53d", "#3f51d1", "#a8324a")
COLOURS = [PALETTE[9], PALETTE[5], *map(to_rgb, MORE), PALETTE[7]]
"""Of families beyond the table: light and dark in turns, seen on white and on a dark page alike."""
MARKERS = ("P", "X", "<", ">", "*", "h", "p", "d", "s", "^", "v", "o", "D")
DASHES: tuple[Any, ...] = ("-", (0, (1, 1)), (0, (5, 1, 1, 1)), (0, (2.5, 1)), (0, (7, 1.5)), (0, (4, 1, 1, 1, 1, 1)))
MANY, CROWD = 6, 12
"""Methods beyond which their lines and markers are smaller, and beyond which panels are taller and bands fainter."""
WIDTHS = {0: (1.9, 1.0), MANY: (1.3, 0.8), CROWD: (0.9, 0.7)}
"""By the number of methods beyond which they are used: the widest and the thinnest line."""
MARKER = 2.9
"""Points that a marker is wide, of a line one point wide."""
LEAST = 2.6
"""Points below which one marker looks like another."""
BAND, FAINT = 0.18, 0.05
"""How much of what is below it a band covers."""

METRICS = {
    "test_accuracy": "test accuracy (%)",
    "test_loss": "test loss",
    "train_loss": "training loss",
    "stationarity": r"$\|\nabla f(\bar{x})\|^2$",
    "grad_norm": r"$\|\nabla f(\bar{x})\|$",
    "grad_norm_mean": r"mean of $\|\nabla f(\bar{x})\|$ over all steps",
    "consensus": "consensus error",
    "tracking_error": "tracking error",
    "step": "iterations",
    "epoch": "epochs",
    "samples": "samples drawn by the network",
    "gradients": "gradients computed by the network",
    "rounds": "communication rounds",
    "numbers": "numbers sent by the network",
    "bytes": "bytes sent by the network",
    "wall_s": "seconds",
}
DATASETS = {"mnist": "MNIST", "fashion_mnist": "Fashion-MNIST", "miniboone": "MiniBooNE"}
MORE_IS_BETTER = ("test_accuracy",)
FILES = {"svg.hashsalt": "hearsay", "svg.fonttype": "path", "pdf.fonttype": 42, "ps.fonttype": 42}


def name_of(dataset: str) -> str:
    return DATASETS.get(dataset, dataset)


def metric_name(metric: str, results: Results | None = None) -> str:
    """What an axis or a column says; of a metric that a plug-in brought, what the runs call it."""
    said = results.measures.get(metric, {}).get("label") if results else None
    return METRICS.get(metric) or said or metric.replace("_", " ")


def metric_in_words(metric: str, results: Results | None = None) -> str:
    """The same in a sentence or a column of text: without formulas and units."""
    own = results is not None and metric in results.measures
    return metric_name(metric, results) if own else metric.replace("_", " ")


def more_is_better(metric: str, results: Results | None = None) -> bool:
    return bool(direction(metric, results))


def direction(metric: str, results: Results | None = None) -> bool | None:
    """Whether more of it is better; None of a metric that a plug-in brought and did not say so of."""
    if results and metric in results.measures:
        return results.measures[metric].get("more_is_better")
    return metric in MORE_IS_BETTER


def method_name(algo: object, results: Results | None = None) -> str:
    """What a method is called in legends, tables and sentences: as its runs declare it."""
    declared = results.declared.get(str(algo), {}) if results else {}
    return declared.get("label") or (STYLES[str(algo)].label if algo in STYLES else str(algo))


def styles(algos: Iterable[str], results: Results | None = None) -> dict[str, Style]:
    """A style for every method: from the table or a spare one, with the label and family that its runs declare.

    With ``results`` a method looks the same in all their figures.
    """
    wanted = set(algos)
    declared = results.declared if results else {}
    everyone = wanted | set(results.runs["algo"]) if results else wanted
    out: dict[str, Style] = {}
    for algo, style in STYLES.items():
        if algo in everyone:
            out[algo] = replace(style, label=method_name(algo, results))
    out |= _spare_styles(everyone - set(STYLES), declared, list(out.values()))
    chosen = [algo for algo in out if algo in wanted]
    widest, thinnest = next(widths for beyond, widths in reversed(WIDTHS.items()) if len(chosen) > beyond or not beyond)
    step = (widest - thinnest) / max(1, len(chosen) - 1)
    many = len(chosen) > CROWD
    return {
        algo: replace(
            out[algo], width=widest - step * place if len(chosen) > 1 else out[algo].width, place=place, many=many
        )
        for place, algo in enumerate(chosen)
    }


def taller(look: dict[str, Style]) -> float:
    """By how much a panel is taller where a crowd is in it."""
    return 1.8 if len(look) > CROWD else 1.0


def _spare_styles(algos: set[str], declared: dict[str, dict[str, Any]], taken: list[Style]) -> dict[str, Style]:
    """Styles of methods that are not in the table: the colour is the family's, the dash and the marker the member's,
    and markers go round through all families, so that they help where colours do not. No two are the same."""
    family = {algo: declared.get(algo, {}).get("family") or algo for algo in algos}
    colours = {algo: style.colour for algo, style in STYLES.items()}
    members = Counter(colours.values())
    users: Counter[Any] = Counter()
    rotation = itertools.cycle(MARKERS)
    looks = {(style.colour, style.dash, style.marker) for style in (*STYLES.values(), *taken)}
    out = {}
    for algo in sorted(algos, key=lambda name: (_counted(family[name]), _counted(name))):
        if family[algo] not in colours:
            first = zlib.crc32(family[algo].encode()) % len(COLOURS)  # by its name: the same in other results
            order = [*COLOURS[first:], *COLOURS[:first]]
            colours[family[algo]] = min(order, key=lambda colour: users[colour])
            users[colours[family[algo]]] += 1
        colour = colours[family[algo]]
        dash = DASHES[members[colour] % len(DASHES)]
        members[colour] += 1
        marker = next(
            (m for m in itertools.islice(rotation, len(MARKERS)) if (colour, dash, m) not in looks), MARKERS[0]
        )
        looks.add((colour, dash, marker))
        out[algo] = Style(declared.get(algo, {}).get("label") or algo, colour, marker, dash)
    return out


def _counted(name: str) -> list[tuple[int, str]]:
    """For sorting: trial2 before trial10."""
    return [(int(part or 0), part) if part.isdigit() else (0, part) for part in re.split(r"(\d+)", name)]


def variant(style: Style, number: int) -> Style:
    """The same method in another form: another shade, dash and marker."""
    if number == 0:
        return style
    fade = (0.0, 0.45, -0.35)[number % 3]
    colour = tuple(part + fade * (1 - part) if fade > 0 else part * (1 + fade) for part in style.colour[:3])
    marker = MARKERS[(number - 1) % len(MARKERS)]
    return replace(style, colour=colour, marker=marker, dash=DASHES[number % len(DASHES)], place=style.place + number)


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
            "legend.handlelength": 1.8,
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
