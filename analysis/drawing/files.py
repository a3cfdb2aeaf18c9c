"""Figures as files and on a page: the same bytes of the same data."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure

from analysis.drawing.panels import tidy
from analysis.drawing.style import INK
from analysis.drawing.texts import tame
from bench.store.regular import write_bytes

STABLE: dict[str, dict[str, Any]] = {
    "pdf": {"metadata": {"CreationDate": None, "Producer": None, "Creator": "hearsay"}},
    "svg": {"metadata": {"Date": None, "Creator": "hearsay"}},
    "png": {"dpi": 300, "metadata": {"Software": None}},
}
"""What makes files of the same data the same bytes."""


def render(figure: Figure, kind: str) -> bytes:
    """The bytes of a file; the places of everything are found once, and are the same in every format."""
    sink = io.BytesIO()
    tame(figure)
    with rc_context({"figure.constrained_layout.use": False}):  # or they would be sought, and all drawn, for every file
        tidy(figure)
        if (engine := figure.get_layout_engine()) is not None:
            engine.execute(figure)
            figure.set_layout_engine(None)
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
    """The figure for a web page: its ink is the page's text color, its ids are its own."""
    figure.patch.set_alpha(0)
    text = render(figure, "svg").decode()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    text = text.replace(INK, "currentColor")
    text = re.sub(r'(id="|#)([A-Za-z_][\w.-]*)', rf"\1{prefix}-\2", text)
    return re.sub(rf"(fill|stroke|stop-color): #{prefix}-", r"\1: #", text)
