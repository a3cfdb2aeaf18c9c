"""The report as one HTML file that needs no network."""

import json
import math
import re
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
import pandas as pd
from markupsafe import Markup, escape
from matplotlib.colors import to_hex

from analysis.drawing.style import styles
from analysis.drawing.symbols import LETTERS
from analysis.report.caption import MATH
from analysis.report.commands import portable, run_command
from analysis.report.report_data import COMMANDS, ReportData, run_table
from analysis.results.results import Results
from analysis.results.wording import natural_order
from analysis.tables.format import SETTING, is_empty
from bench import __version__
from bench.store.integrity import read_file
from bench.store.regular import end_of
from bench.terminal.visible import visible, visible_parts

HERE = Path(__file__).parent
FIRST = "<!doctype html>"
"""The first line of a report."""
LISTED = 1000
"""The largest number of listed runs, which have configs, logs and curves. Figures and tables use all runs."""
LOG, CONFIG = 4000, 1 << 16
"""The largest shown parts of a log and of a configuration, in bytes."""
LATEST = 253402300800
"""The year 10000 in seconds after 1970. strftime fails after it."""
POINTS = 40
SPARKS = ("test_accuracy", "test_loss", "grad_norm", "consensus")
MISSING = "–"


def template(name: str) -> jinja2.Template:
    """Return a template of this folder, with autoescape."""
    loader = jinja2.FileSystemLoader(HERE)
    environment = jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["with_indices"] = with_indices
    return environment.get_template(name)


def with_indices(text: str) -> Markup:
    """Return a text as HTML, in which b_t has an index and 2^-12 a power."""
    return Markup(MATH.sub(_index, str(escape(text))))


def _index(match: re.Match[str]) -> str:
    letter, index, base, power = match.groups()
    return f"{letter}<sub>{index.strip('()')}</sub>" if letter else f"{base}<sup>{power.strip('()')}</sup>"


def page(report: ReportData, command: str = "") -> str:
    """Return the page. ``command`` is the command that made it."""
    some, note = listed(report.results)
    runs, varied = run_table(report.results) if len(report.results.runs) else (pd.DataFrame(), [])
    runs = runs[runs["run_id"].isin(some.runs["run_id"])] if note else runs
    return visible(
        template("page.html.j2").render(
            report=report,
            COMMANDS=COMMANDS,
            style=(HERE / "page.css").read_text(encoding="utf-8"),
            script=(HERE / "page.js").read_text(encoding="utf-8"),
            figures=[
                {"name": drawing.name, "title": title, "svg": svg, "used": used, "notes": notes}
                for drawing, title, notes, svg, used in report.figures
            ],
            tables=[
                {
                    "name": r.name,
                    "title": t.title or r.title,
                    "columns": list(shown_part.columns),
                    "rows": cells(shown_part),
                    "notes": [*same, *t.notes],
                }
                for r, t in report.tables
                for shown_part, same in [what_differs(t.shown)]
            ],
            runs={
                "columns": [LETTERS.get(c, c) for c in runs.columns],
                "rows": cells(runs),
                "choices": [
                    {"column": list(runs.columns).index(c), "name": LETTERS.get(c, c), "values": choices(runs[c])}
                    for c in varied
                ],
                "note": note,
            },
            trouble=trouble(some),
            details=embed(details(some)),
            made={
                "command": command,
                "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
                "version": __version__,
            },
            ended=ended(report.results),
            source=portable(report.results.source),
        )
    )


def listed(results: Results) -> tuple[Results, str]:
    """Return the runs to list, and a sentence if these are not all."""
    count = len(results.runs)
    if count <= LISTED:
        return results, ""
    order = results.runs.assign(well=results.runs["state"] == "done")
    runs = order.sort_values(["well", "seed", "run_id"]).head(LISTED)[list(results.runs.columns)].sort_index()
    rows = results.rows[results.rows["run_id"].isin(runs["run_id"])]
    troubled = f"the {min(LISTED, (~order['well']).sum())} that are not done, then " if not order["well"].all() else ""
    return replace(results, runs=runs.reset_index(drop=True), rows=rows), (
        f"{LISTED} of {count} runs are listed here, and only these have details: {troubled}those with the smallest "
        f"seeds. Figures and tables are made from all. All runs: python bench/status.py {portable(results.source)}"
    )


def what_differs(table: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Remove empty columns, and settings that are the same in every row; return these settings as a note."""
    same = [c for c in table if len(table) > 1 and table[c].map(str).nunique() == 1]
    same = [c for c in same if c in SETTING or is_empty(table[c].iloc[0])]
    shared = ", ".join(f"{c} {table[c].iloc[0]}" for c in same if not is_empty(table[c].iloc[0]))
    return table.drop(columns=same), [f"In every row: {shared}"] if shared else []


def ended(results: Results) -> str:
    """Return the times of the first and the last end of a run, if the run folders exist."""
    times = []
    for home in filter(None, (home_of(results, run) for run in results.runs.get("run_id", []))):
        with suppress(OSError):
            times.append((home / "status.json").lstat().st_mtime)
    times = [when for when in times if 0 < when < LATEST]
    days = [time.strftime("%Y-%m-%d %H:%M", time.gmtime(when)) for when in (min(times), max(times))] if times else []
    return " to ".join(dict.fromkeys(days)) + " UTC" if days else ""


def home_of(results: Results, run: str) -> Path | None:
    """Return the folder of a run; None if there is none, or if it is a symbolic link."""
    home = results.folder / run if results.folder else None
    return None if home is None or home.is_symlink() or home.parent.is_symlink() else home


def embed(value: Any) -> str:
    """Return JSON that is safe inside a script element."""
    text = json.dumps(visible_parts(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def cells(table: pd.DataFrame) -> list[list[dict[str, Any]]]:
    """Return the text and the sort key of every cell."""
    rows = table.itertuples(index=False, name=None)
    return [[{"text": shown(value), "sort": sortable(value)} for value in row] for row in rows]


def shown(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return MISSING
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, float | np.floating):
        return f"{value:.4g}"
    return str(value)


def sortable(value: Any) -> str:
    """Return the leading number, or the text: 85.12 ± 0.03 sorts by 85.12."""
    if isinstance(value, bool | np.bool_):
        return str(int(value))
    if isinstance(value, int | float | np.number):
        return "" if isinstance(value, float) and not math.isfinite(value) else repr(float(value))
    first = str(value).split(" ")[0]
    try:
        return repr(float(first))
    except ValueError:
        return str(value)


def choices(column: pd.Series) -> list[str]:
    """Return the distinct values of a column in natural order, for its filter."""
    found = {shown(value): sortable(value) for value in column}
    return sorted(found, key=lambda text: natural_order(found[text]))


def trouble(results: Results) -> list[dict[str, str]]:
    """Return the runs that did not end well, with the reason if it is known."""
    out = []
    for row in results.runs.to_dict("records"):
        if row["state"] in ("failed", "diverging", "nonfinite", "interrupted"):
            home = home_of(results, row["run_id"])
            status = read_file(home, "status.json") if home else {}
            at = f"at step {status['step']}" if "step" in status else ""
            out.append({"run": row["run_id"], "state": row["state"], "why": status.get("error") or at})
    return sorted(out, key=lambda item: (item["state"] != "failed", item["state"], natural_order(item["run"])))


def details(results: Results) -> dict[str, Any]:
    """Return the config, state, log, command and curves of every run, which a click on the run shows."""
    metrics = [c for c in (*SPARKS, *results.measures) if c in results.rows]
    look = styles(results.runs["algo"].unique(), results) if len(results.runs) else {}
    out = {}
    origin = ("fingerprint", "engine", "device", "ranks", "replicas", "sweep")
    for row in results.runs.to_dict("records"):
        run = row["run_id"]
        home, fact = home_of(results, run), results.facts.get(run, {})
        labels = "\n".join(f"{key}: {value}" for key, value in row.items() if not pd.isna(value))
        config = _text(home / "config.yaml", CONFIG) if home else labels
        known = {
            "state": row["state"],
            "error": (read_file(home, "status.json").get("error") if home else None) or "",
            "config": config,
            "command": run_command(config, fact, results.source) if home else "",
            "log": _text(home / "log.txt", LOG) if home else "",
            "origin": {key: fact[key] for key in origin if fact.get(key)},
            "curves": _curves(results, run, metrics) if len(results.rows) else {},
            "color": to_hex(look[row["algo"]].color),
        }
        out[run] = {name: value for name, value in known.items() if value}
    return out


def _curves(results: Results, run: str, metrics: list[str]) -> dict[str, Any]:
    """Return at most ``POINTS`` points of each metric."""
    steps, _ = results.course(run, "step")
    some = np.unique(np.linspace(0, len(steps) - 1, min(POINTS, len(steps))).astype(int))
    out: dict[str, Any] = {"step": steps[some].tolist()} if len(steps) else {}
    for metric in metrics:
        found = results.course(run, metric)[1][some].astype(float).tolist()
        if any(map(math.isfinite, found)):
            out[metric] = [float(f"{v:.4g}") if math.isfinite(v) else None for v in found]
    return out


def _text(path: Path, most: int) -> str:
    """Return the end of a file, which a run may still be writing."""
    try:
        return end_of(path, most)
    except OSError as error:
        return "" if isinstance(error, FileNotFoundError) else f"{path.name} is not shown: {error.strerror}."
