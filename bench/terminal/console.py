"""The console of every command."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import rich.console
from rich.console import ConsoleOptions, RenderableType
from rich.segment import Segment

from bench.terminal.notebook import in_notebook
from bench.terminal.visible import visible


class Console(rich.console.Console):
    """Rich's console without control characters in texts, and by default without markup and highlighting."""

    def __init__(self, *, highlight: bool = False, markup: bool = False, **options: Any) -> None:
        if in_notebook():  # rich's progress bars there need ipywidgets, and the streams claim to be terminals
            options = {"force_jupyter": False, "force_terminal": False, **options}
        super().__init__(highlight=highlight, markup=markup, **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=visible(segment.text))
