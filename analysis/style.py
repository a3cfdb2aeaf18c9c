"""How everything looks: one table for the methods, one size for a two-column paper."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import seaborn as sns
from matplotlib.figure import Figure

from bench.files import write_bytes

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


STYLES = {
    "dnasa": Style("D-NASA", PALETTE[3], "o", (0, (4, 1.6))),
    "dsgd": Style("D-SGD", PALETTE[0], "s"),
    "dsgt": Style("D-SGT", PALETTE[2], "^"),
    "dasagt": Style("D-ASAGT", PALETTE[4], "D"),
    "d2": Style("D²", PALETTE[1], "v"),
}
SPARE = [Style("", PALETTE[i], marker) for i, marker in zip((9, 5, 8, 6, 7), ("P", "X", "<", ">", "*"), strict=True)]
"""For methods that a plug-in brought, in the order of their names."""

METRICS = {
    "test_accuracy": "test accuracy (%)",
    "test_loss": "test loss",
    "train_loss": "training loss",
    "stationarity": r"$\|\nabla f(\bar{x})\|^2$",
    "grad_norm": r"$\|\nabla f(\bar{x})\|$",
    "grad_norm_mean": r"mean of $\|\nabla f(\bar{x})\|$ over all steps",
    "consensus": r"consensus $\frac{1}{n}\sum\,\|x_i-\bar{x}\|^2$",
    "tracking_error": "tracking error",
    "step": "iterations",
    "epoch": "epochs",
    "rounds": "communication rounds",
    "bytes": "bytes sent by the network",
    "wall_s": "seconds",
}
DATASETS = {"mnist": "MNIST", "fashion_mnist": "Fashion-MNIST", "miniboone": "MiniBooNE", "synthetic": "least squares"}
FILES = {"svg.hashsalt": "hearsay", "svg.fonttype": "path", "pdf.fonttype": 42, "ps.fonttype": 42}


def name_of(dataset: str) -> str:
    return DATASETS.get(dataset, dataset)


def styles(algos: Iterable[str]) -> dict[str, Style]:
    """A style for every method: its own from the table, or a spare one."""
    out = {}
    strangers = sorted(set(algos) - set(STYLES))
    for algo in [name for name in STYLES if name in set(algos)]:
        out[algo] = STYLES[algo]
    for place, algo in enumerate(strangers):
        spare = SPARE[place % len(SPARE)]
        out[algo] = Style(algo, spare.colour, spare.marker, (0, (1, 1)) if place >= len(SPARE) else "-")
    return out


def use() -> None:
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


STABLE: dict[str, dict[str, Any]] = {
    "pdf": {"metadata": {"CreationDate": None, "Producer": None, "Creator": "hearsay"}},
    "svg": {"metadata": {"Date": None, "Creator": "hearsay"}},
    "png": {"dpi": 300, "metadata": {"Software": None}},
}
"""What makes files of the same data the same bytes."""


def render(figure: Figure, kind: str) -> bytes:
    if figure.get_layout_engine() is not None:
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # the places are found once, and are the same in every format
    sink = io.BytesIO()
    figure.savefig(sink, format=kind, **STABLE[kind])
    return sink.getvalue()


def save(figure: Figure, folder: Path, name: str, formats: Iterable[str]) -> list[Path]:
    """The figure in every format, whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    out = []
    for kind in formats:
        path = folder / f"{name}.{kind}"
        write_bytes(path, render(figure, kind))
        out.append(path)
    return out


def page_svg(figure: Figure, prefix: str) -> str:
    """The figure for a web page: its ink is the page's text colour, its ids are its own."""
    figure.patch.set_alpha(0)
    text = render(figure, "svg").decode()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    text = text.replace(INK, "currentColor")
    text = re.sub(r'(id="|#)([A-Za-z_][\w.-]*)', rf"\1{prefix}-\2", text)
    return re.sub(rf"(fill|stroke|stop-color): #{prefix}-", r"\1: #", text)
