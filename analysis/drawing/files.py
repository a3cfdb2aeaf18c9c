"""Figures as files and as SVG for the page. The same data gives the same bytes."""

import io
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure

from analysis.drawing.panels import tidy
from analysis.drawing.style import INK, escape_texts
from bench.store.regular import write_bytes

STABLE: dict[str, dict[str, Any]] = {
    "pdf": {"metadata": {"CreationDate": None, "Producer": None, "Creator": "hearsay"}},
    "svg": {"metadata": {"Date": None, "Creator": "hearsay"}},
    "png": {"dpi": 300, "metadata": {"Software": None}},
}
"""Formats, with the options that make files of the same data the same bytes."""


def render(figure: Figure, kind: str) -> bytes:
    """Return the bytes of a file. The layout is computed once and is the same in every format."""
    sink = io.BytesIO()
    escape_texts(figure)
    with rc_context({"figure.constrained_layout.use": False}):  # else Matplotlib computes the layout for every file
        tidy(figure)
        if (engine := figure.get_layout_engine()) is not None:
            engine.execute(figure)
            figure.set_layout_engine(None)
        figure.savefig(sink, format=kind, **STABLE[kind])
    return sink.getvalue()


def save(figure: Figure, folder: Path, name: str, formats: Iterable[str]) -> list[Path]:
    """Write the figure in every format, each file atomically."""
    folder.mkdir(parents=True, exist_ok=True)
    out = [folder / f"{name}.{kind}" for kind in formats]
    for path in out:
        write_bytes(path, render(figure, path.suffix[1:]))
    return out


def page_svg(figure: Figure, prefix: str) -> str:
    """Return the figure as SVG for a web page, with the text color of the page and with unique ids."""
    figure.patch.set_alpha(0)
    text = render(figure, "svg").decode()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    text = text.replace(INK, "currentColor")
    text = re.sub(r'(id="|#)([A-Za-z_][\w.-]*)', rf"\1{prefix}-\2", text)
    return re.sub(rf"(fill|stroke|stop-color): #{prefix}-", r"\1: #", text)
