"""How everything looks: one table for the methods, one size for a two-column paper."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import matplotlib

matplotlib.use("Agg")

import seaborn as sns

from analysis.drawing.palette import DASHES, SPARE, shade, shipped, spare
from analysis.results.results import Results

COLUMN, PAGE = 3.35, 6.9
"""Inches: the width of a column and of the page of a two-column paper."""
INK = "#1f2328"


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
        return max(MARKER * self.width, LEAST) * (1.4 if self.marker == "*" else 1.0)  # a star is thin

    @property
    def band(self) -> float:
        """How opaque its band is."""
        return FAINT if self.many else BAND


LABELS = {"dnasa": "D-NASA", "dsgd": "D-SGD", "dsgt": "D-SGT", "dasagt": "D-ASAGT", "d2": "D²"}
"""Of methods whose older runs do not declare one."""
STYLES = {name: Style(LABELS.get(name, name), c, marker, dash) for name, (c, dash, marker) in shipped().items()}
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
    return metric_name(metric, results) if own else metric.replace("train_", "training_").replace("_", " ")


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
    others = sorted(everyone - set(STYLES), key=lambda name: (_counted(_family(name, declared)), _counted(name)))
    known, present = ([(s.colour, s.dash, s.marker) for s in some.values()] for some in (STYLES, out))
    free = spare({a: _family(a, declared) for a in others}, dict(zip(STYLES, known, strict=True)), present)
    for algo, (colour, dash, marker) in free.items():
        out[algo] = Style(method_name(algo, results), colour, marker, dash)
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


def _family(algo: str, declared: dict[str, dict[str, Any]]) -> str:
    return declared.get(algo, {}).get("family") or algo


def _counted(name: str) -> list[tuple[int, str]]:
    """For sorting: trial2 before trial10."""
    return [(int(part or 0), part) if part.isdigit() else (0, part) for part in re.split(r"(\d+)", name)]


def variant(style: Style, number: int) -> Style:
    """The same method in another form: another shade, dash and marker."""
    if number == 0:
        return style
    dash = DASHES[((DASHES.index(style.dash) if style.dash in DASHES else 0) + number) % len(DASHES)]
    marker = SPARE[(number - 1) % len(SPARE)]
    return replace(style, colour=shade(style.colour, number), marker=marker, dash=dash, place=style.place + number)


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
