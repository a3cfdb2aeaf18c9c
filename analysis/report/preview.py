"""What a W&B report will hold, as a page to look at before there is one."""

from __future__ import annotations

from html import escape
from typing import Any

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 1.5rem auto; padding: 0 1rem; }
body { color: #1f2328; background: #fff; }
.grid { display: grid; grid-template-columns: repeat(24, 1fr); gap: .6rem; margin: .6rem 0; }
.panel { border: 1px solid #d0d7de; border-radius: 8px; padding: .6rem .8rem; min-height: 8.5rem; background: #f6f8fa; }
.panel b { display: block; } .panel span, .sets { color: #57606a; font-size: .86rem; display: block; }
table { border-collapse: collapse; font-size: .8rem; margin: .4rem 0; }
td { border: 1px solid #d0d7de; padding: .15rem .5rem; }
.scroll { overflow-x: auto; }
"""


def preview(specification: dict[str, Any], title: str, description: str) -> str:
    """The blocks of a specification in order; a box that says what is in it in the place of each panel."""
    body = "\n".join(_block(block) for block in specification["blocks"])
    head = f"<!doctype html><html lang='en'><meta charset='utf-8'><title>{escape(title)}</title><style>{STYLE}</style>"
    return f"{head}<h1>{escape(title)}</h1><p>{escape(description)}</p>\n{body}\n"


def _block(block: dict[str, Any]) -> str:
    match block["type"]:
        case "heading":
            return f"<h{block['level']}>{escape(block['children'][0]['text'])}</h{block['level']}>"
        case "markdown-block":
            return _markdown(block["content"])
        case "panel-grid":
            return _grid(block["metadata"])
        case "callout-block":
            return f"<p><em>{escape(str(block['children'][0]['children'][0]['text']))}</em></p>"
    return ""


def _grid(metadata: dict[str, Any]) -> str:
    sets = []
    for item in metadata["runSets"]:
        kept = ", ".join(f"{rule['key']['name']} = {rule['value']}" for rule in item["filters"]["filters"])
        by = ", ".join(key["name"].removesuffix(".value") for key in item["grouping"])
        sets.append(
            f"<span class='sets'>run set <b>{escape(item['name'])}</b>: {escape(kept)}; grouped by {escape(by)}</span>"
        )
    panels = []
    for panel in metadata["panelBankSectionConfig"]["panels"]:
        place, config = panel["layout"], panel["config"]
        y = ", ".join(config["metrics"]) if "metrics" in config else config.get("yAxis", "")
        shown = f"{panel['viewType']}: {y} against {config.get('xAxis', 'step')}"
        logs = [
            axis
            for axis, key in (("x", "xAxisLogScale"), ("y", "yLogScale"), ("y", "yAxisLogScale"))
            if config.get(key)
        ]
        band = f"{config['groupAgg']} with {config['groupArea']} band" if "groupAgg" in config else "a point per run"
        notes = "".join(
            f"<span>{escape(text)}</span>" for text in (shown, f"log {', '.join(logs)}" if logs else "", band) if text
        )
        style = f"grid-column: {place['x'] + 1} / span {place['w']}; grid-row: {place['y'] + 1} / span {place['h']}"
        panels.append(f"<div class='panel' style='{style}'><b>{escape(config['chartTitle'])}</b>{notes}</div>")
    return f"{''.join(sets)}<div class='grid'>{''.join(panels)}</div>"


def _markdown(text: str) -> str:
    """The little Markdown that the report uses: headings, lists, tables."""
    out = []
    lines = text.splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    for line in lines:
        if line.startswith("## "):
            out.append(f"<h3>{escape(line[3:])}</h3>")
        elif line.startswith("|"):
            if rows:
                cells = [rows[0], *rows[2:]]
                inner = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in cells)
                out.append(f"<div class='scroll'><table>{inner}</table></div>")
                rows = []
        elif line.strip():
            out.append(f"<div>{escape(line.replace('**', ''))}</div>")
    return "\n".join(out)
