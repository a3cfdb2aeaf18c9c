"""The board as one HTML file that opens from disk."""

from __future__ import annotations

import json
from pathlib import Path

import jinja2

from analysis.board.markdown import RULES, tier_note
from analysis.board.page_data import page_data
from analysis.board.study import Study
from analysis.results.errors import NoData
from bench import __version__
from bench.base.provenance import MARKS
from bench.terminal.visible import visible, visible_parts

HERE = Path(__file__).parent
LARGEST = 5_000_000
"""The largest size of the page in bytes."""


def page(study: Study) -> str:
    """Return the page.

    Raises:
        NoData: The page is too large.
    """
    loader = jinja2.FileSystemLoader(HERE)
    made = jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    # a text such as </script> in a label must not end the script
    data = json.dumps(visible_parts(page_data(study)), separators=(",", ":"), allow_nan=False)
    style = (HERE.parent / "report" / "page.css").read_text(encoding="utf-8")
    text = visible(
        made.get_template("board.html.j2").render(
            board=study.board,
            warnings=study.warnings,
            rules=RULES,
            tiers=tier_note(study.board.comparisons),
            answers=study.answers,
            quick=study.size == "quick",
            hidden=study.board.hidden["workloads"],
            marks=MARKS,
            version=__version__,
            style=style + (HERE / "board.css").read_text(encoding="utf-8"),
            script=(HERE / "board.js").read_text(encoding="utf-8"),
            data=data.replace("<", "\\u003c"),
        )
    )
    if (size := len(text.encode())) > LARGEST:
        raise NoData(f"the page has {size} bytes, more than {LARGEST}")
    return text
