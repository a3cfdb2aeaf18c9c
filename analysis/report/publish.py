"""The report on W&B: live panels of the project's runs, and the tables as text."""

import json
import logging
import reprlib
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pandas as pd
import wandb
import wandb_workspaces.reports.v2 as wr
from wandb_workspaces.expr import Config, FilterExpr

from analysis.drawing.style import styles
from analysis.report.page import template
from analysis.report.report_data import COMMANDS, ReportData
from analysis.results.from_wandb import PATIENCE_S, unreachable
from analysis.results.labels import name_of
from analysis.tables import format as words
from bench.base.account import mode
from bench.store.files import write_text
from bench.terminal.command import say

TITLE = "hearsay"
LINKS = 300
"""The largest number of linked runs. The panels show all."""
SHORT = ("methods", "final", "robustness")


def publish(data: ReportData, target: str, specification: Path) -> int:
    """Create or update the report. Without a login, only write its specification to a file."""
    entity, project = target.split("/")
    logged_in = mode() == "online"  # before W&B is used, which fails with an empty WANDB_MODE
    report = build(data, entity, project)
    for sentence in _without_panels(data):
        say(sentence)
    # the library has no public way to JSON; its version is pinned
    text = report._to_model().spec.model_dump_json(by_alias=True, exclude_none=True, indent=1)
    write_text(specification, text + "\n")
    blocks, preview = json.loads(text)["blocks"], template("preview.html.j2")
    page = preview.render(blocks=blocks, title=TITLE, description=report.description)
    write_text(specification.with_suffix(".html"), page)
    if not logged_in:
        print(
            f"Not logged in to W&B: the report's specification is in {specification} (to look at: "
            f"{specification.with_suffix('.html').name}). To publish it: wandb login, python bench/sync.py RESULTS for "
            "the runs, and this command again."
        )
        return 0
    if not (trouble := unreachable()):
        try:
            logging.getLogger("wandb").setLevel(logging.CRITICAL)
            report.id = existing(entity, project)
            known = bool(report.id)
            report.save()
        except Exception as error:  # the server may answer anything; the local page is already written
            trouble = " ".join(str(error).split())[:300]
    if trouble:
        print(f"The W&B report was not published: {trouble}. Its specification is in {specification}.", file=sys.stderr)
        return 1
    print(f"W&B report {'updated' if known else 'created'}: {report.url}")
    return 0


def existing(entity: str, project: str) -> str:
    """Return the id of the report of an earlier call, or an empty string."""
    try:
        reports = list(wandb.Api(timeout=PATIENCE_S).reports(f"{entity}/{project}"))
    except (ValueError, TypeError):  # the project does not exist yet
        return ""
    return next((report.id for report in reports if report.display_name == TITLE), "")


def build(report: ReportData, entity: str, project: str) -> wr.Report:
    """Return the report, without a connection to the server."""
    left_out = unusable(report)
    runs = report.results.runs
    runs = runs[~runs["dataset"].isin(left_out) & ~runs["topology"].isin(left_out)]
    commands = [(f"Command ({count} runs)", f"`{command}`") for command, count in report.commands[:COMMANDS]]
    facts = "\n".join(f"- **{name}**: {words.in_markdown(text)}" for name, text in [*report.facts, *commands])
    blocks: list[Any] = [wr.MarkdownBlock(facts), *map(wr.CalloutBlock, [*report.warnings, *_without_panels(report)])]
    blocks.append(wr.H2("Learning curves"))
    for dataset in runs["dataset"].unique():
        some = runs[runs["dataset"] == dataset]
        accuracy = _has_accuracy(report, dataset)
        blocks += [wr.H3(name_of(dataset)), grid(dataset, sorted(some["topology"].unique()), accuracy)]
    if "eta" in runs and runs["eta"].nunique() > 1:
        blocks += [wr.H2("Sensitivity to the stepsize"), stepsizes(report, runs)]
    blocks.append(wr.H2("Tables"))
    for recipe, table in report.tables:
        if recipe.name in SHORT:
            blocks.append(wr.MarkdownBlock(words.markdown(table, table.title or recipe.title)))
    blocks += [wr.H2("Runs"), wr.MarkdownBlock(links(report, entity, project))]
    description = " ".join(dict.fromkeys([report.headline, report.scope]))[:500]
    return wr.Report(project, entity, title=TITLE, description=description, blocks=blocks, width="fluid")


def _has_accuracy(report: ReportData, dataset: str) -> bool:
    rows, runs = report.results.rows, report.results.runs
    mine = rows["run_id"].isin(runs.loc[runs["dataset"] == dataset, "run_id"])
    return "test_accuracy" in rows and bool(rows.loc[mine, "test_accuracy"].notna().any())


def runset(dataset: str, topology: str | None, groupby: list[str]) -> wr.Runset:
    """Return the runs of the project on one dataset and graph."""
    conditions: list[FilterExpr] = [Config("dataset") == dataset]
    if topology is not None:
        conditions.append(Config("topology") == topology)
    return wr.Runset(name=topology or dataset, filters=conditions, groupby=groupby)


def unusable(report: ReportData) -> list[str]:
    """Return the datasets and graphs that W&B cannot filter by: its library does not escape them."""
    runs = report.results.runs
    return [label for label in dict.fromkeys([*runs["dataset"], *runs["topology"]]) if not _survives(label)]


def _survives(label: str) -> bool:
    try:
        filters = runset(label, None, [])._to_model().filters
        return [one["value"] for one in filters["filters"]] == [label]
    except Exception:  # the library parses the label as a part of a Python expression
        return False


def _without_panels(report: ReportData) -> list[str]:
    names = ", ".join(map(reprlib.repr, unusable(report)))
    return [f"The W&B report has no panels for {names}, since W&B cannot filter by these labels."] if names else []


def grid(dataset: str, topologies: list[str], accuracy: bool) -> wr.PanelGrid:
    """Return curves of a dataset: a run set per graph, grouped by method and stepsize, with means and ranges."""
    metrics = (["test_accuracy"] if accuracy else ["test_loss"]) + ["train_loss", "grad_norm", "consensus"]
    panels: list[Any] = [
        wr.LinePlot(
            title=metric,
            x="epoch" if accuracy else "step",
            y=[metric],
            log_y=metric != "test_accuracy",
            groupby_aggfunc="mean",
            groupby_rangefunc="minmax",
            max_runs_to_show=100,
            layout=wr.Layout(x=6 * place, y=0, w=6, h=8),
        )
        for place, metric in enumerate(metrics)
    ]
    sets = [runset(dataset, topology, ["config.algo", "config.eta"]) for topology in topologies]
    return wr.PanelGrid(runsets=sets, panels=panels)


def stepsizes(report: ReportData, runs: pd.DataFrame) -> wr.PanelGrid:
    """Return final values of these runs against η, a point per run."""
    panels: list[Any] = []
    sets = []
    for place, dataset in enumerate(runs.dropna(subset="eta")["dataset"].unique()):
        metric = "test_accuracy" if _has_accuracy(report, dataset) else "test_loss"
        sets.append(runset(dataset, None, ["config.algo"]))
        panels.append(
            wr.ScatterPlot(
                title=f"{name_of(dataset)}: {metric} against η",
                x=wr.Config("eta"),
                y=wr.SummaryMetric(metric),
                log_x=True,
                log_y=metric == "test_loss",
                layout=wr.Layout(x=12 * (place % 2), y=10 * (place // 2), w=12, h=10),
            )
        )
    return wr.PanelGrid(runsets=sets, panels=panels)


def links(report: ReportData, entity: str, project: str) -> str:
    """Return a list of links to at most ``LINKS`` runs."""
    runs = report.results.runs.head(LINKS)
    look = styles(runs["algo"].unique(), report.results)
    base = wandb.setup().settings.app_url
    lines = [
        f"- [{words.in_markdown(run)}]({base}/{entity}/{project}/runs/{quote(run)}): "
        f"{words.in_markdown(look[algo].label)}, {state}"
        for run, algo, state in zip(runs["run_id"], runs["algo"], runs["state"], strict=True)
    ]
    rest = len(report.results.runs) - len(runs)
    return "\n".join([*lines, *([f"- and {rest} more"] if rest else [])])
