"""Output in a Jupyter notebook: a progress bar that needs no widgets, and figures."""

from __future__ import annotations

import io
import sys
import threading
from typing import Any

import rich.console
from rich.console import RenderableType

WIDTH = 100
"""Columns of the bar."""
EVERY_S = 0.5
"""Seconds between updates."""
STYLE = "white-space:pre;overflow-x:auto;line-height:normal;margin:0"
FORMAT = f'<pre style="{STYLE}">{{code}}</pre>'


def in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook."""
    return hasattr(_shell(), "kernel")


def _shell() -> Any:
    found = sys.modules.get("IPython")
    return found.get_ipython() if found else None


def show_figures() -> None:
    """Let a notebook show Matplotlib figures that were made without pyplot, unless it already does."""
    if not in_notebook():
        return
    from IPython.core.pylabtools import select_figure_formats

    formats = _shell().display_formatter.formatters.values()
    if not any(("matplotlib.figure", "Figure") in each.deferred_printers or _prints_figures(each) for each in formats):
        select_figure_formats(_shell(), {"retina"})


def _prints_figures(formatter: Any) -> bool:
    return any((kind.__module__, kind.__name__) == ("matplotlib.figure", "Figure") for kind in formatter.type_printers)


class NotebookLive:
    """Shows something that changes below a cell until it is stopped; the same interface as ``rich.live.Live``."""

    def __init__(self, content: RenderableType) -> None:
        self._content = content
        self._handle: Any = None
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._refresh, daemon=True)

    def start(self) -> None:
        from IPython.display import display

        self._handle = display(self._page(), display_id=True)
        self._thread.start()

    def stop(self) -> None:
        """Remove the content."""
        from IPython.display import HTML

        self._end.set()
        self._thread.join()
        self._handle.update(HTML(""))

    def _refresh(self) -> None:
        while not self._end.wait(EVERY_S):
            self._handle.update(self._page())

    def _page(self) -> Any:
        from IPython.display import HTML

        console = rich.console.Console(
            record=True, file=io.StringIO(), width=WIDTH, force_jupyter=False, force_terminal=True
        )
        console.print(self._content)
        return HTML(console.export_html(inline_styles=True, code_format=FORMAT))
