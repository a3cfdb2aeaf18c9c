"""LaTeX figures with captions computed from the runs."""

import re
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from analysis.drawing.bands import KINDS, Band
from analysis.drawing.lines import BAND_FROM
from analysis.drawing.panels import Picture
from analysis.drawing.style import COLUMN, styles
from analysis.figures import Drawing
from analysis.report.bibtex import Bibliography
from analysis.results.labels import DEFINITIONS, METRICS, name_of
from analysis.results.results import Results
from analysis.results.warnings import mixed_note
from analysis.results.wording import listed, many, ranges
from analysis.study.families import split_in_words
from analysis.study.select import CHOOSE, DRAWN_FOR, VARIANTS
from analysis.study.settings import NEUTRAL, in_title
from analysis.tables.latex import tex

MOST = 6
"""The largest number of listed values; of more numbers, the caption has the first and the last."""
FORMULAS = re.compile("|".join(re.escape(name) for name in METRICS.values() if "$" in name))
MATH = re.compile(r"(?<!\w)(?:([A-Za-zη])_([A-Za-z0-9]|\([^)]*\))|(\w|\(\w+\))\^(-?\d+|\([^)]*\)))(?![A-Za-z0-9_])")
"""Variables with an index (b_t, b_(t+1)) and powers (2^-12, n^(−1/4)) in notes."""
PARTITIONS = {"even": "even (contiguous shards of equal size)"}
FACTORS = ("scale", "input_scale")
MODELS = {"lenet": "LeNet", "mlp": "MLP"}
WORDS = {
    "equal": {"False": "shards of unequal size", "True": "shards of equal size"},
    "exact": {"False": "stochastic gradients", "True": "exact gradients"},
    "validation": {"0": "no validation split", "0.1": "10 % of the training data held out for validation"},
}
"""Texts for the values of a label, by its name."""


def figure_for_latex(drawing: Drawing, picture: Picture, results: Results, band: Band, papers: Bibliography) -> str:
    """Return the LaTeX figure with its caption, for \\input."""
    wide = "*" if picture.figure.get_figwidth() > COLUMN else ""
    methods = styles(results.runs.loc[results.runs["run_id"].isin(picture.runs), "algo"].unique(), results)
    cited = [(tex(style.label), papers.citations.get(algo)) for algo, style in methods.items()]
    lines = [f"{_in_tex(sentence)}." for sentence in caption(drawing, picture, results, band)]
    lines += [f"Methods: {_list([f'{label}~{cite}' if cite else label for label, cite in cited])}."]
    return "\n".join(
        [
            r"% \usepackage{graphicx}, \graphicspath{{FOLDER/}}, \input{FOLDER/NAME}, \bibliography{FOLDER/references}",
            rf"\begin{{figure{wide}}}",
            r"\centering",
            rf"\includegraphics{{{drawing.name}}}",
            r"\caption{" + "\n".join(f"  {line}" for line in lines).strip() + "}",
            rf"\label{{fig:{drawing.name}}}",
            rf"\end{{figure{wide}}}",
            "",
        ]
    )


def caption(drawing: Drawing, picture: Picture, results: Results, band: Band) -> list[str]:
    """Return sentences without periods: the quantity shown, settings, seeds, bands, diverged runs and notes."""
    runs = results.runs[results.runs["run_id"].isin(picture.runs)]
    notes = [note for note in picture.notes if not any(hint in note for hint in (CHOOSE, DRAWN_FOR, VARIANTS))]
    plotted = any(ax.axison for ax in picture.figure.axes) and not runs.empty  # not a drawing of graphs
    return [
        picture.title or drawing.title,
        *([*_setting(results, runs), *_seeds(results, runs, band), *_ends(results, runs)] if plotted else []),
        *(as_sentence(note, runs) for note in notes),
        *dict.fromkeys(DEFINITIONS[metric] for metric in picture.data.get("metric", ()) if metric in DEFINITIONS),
        *mixed_note(results, runs),
    ]


def as_sentence(note: str, runs: pd.DataFrame) -> str:
    """Begin a note with a capital letter, unless it begins with the name of a dataset or a symbol."""
    names = tuple(runs["dataset"].unique())
    return note if note.startswith(("ρ", "ζ", *names)) else note[0].upper() + note[1:]


def _setting(results: Results, runs: pd.DataFrame) -> list[str]:
    """The runs use the dataset a9a, the graph ring with n = 8 nodes, …"""
    splits = [split_in_words(row) for row in runs.to_dict("records")]
    table = runs.assign(dataset=runs["dataset"].map(name_of), partition=splits)
    rows = results.rows[results.rows["run_id"].isin(runs["run_id"])]
    if "epoch" in rows and rows["epoch"].notna().any():  # a stream has no shards
        table = table.replace({"partition": PARTITIONS})
    table = table.replace({"model": MODELS, "topology": {"row_stochastic": "row-stochastic"}})
    forms = {
        "dataset": "the dataset{s} {}",
        "model": "the model{s} {}",
        "topology": "the graph{s} {}",
        "nodes": "n = {} nodes",
        "partition": "the partition{s} {}",
        "steps": "T = {} steps",
        "batch_size": "batch size{s} {}",
    }
    parts = []
    for label, form in forms.items():
        values = _values(table, label)
        parts += [form.format(_list(values), s="s" * (len(values) > 1))] if values else []
    found = {label: set(table[label].dropna()) - {usual} for label, usual in NEUTRAL.items() if label in table}
    also = [label for label, unusual in found.items() if unusual and label not in forms]
    also += [label for label in table if label.partition(".")[0] in also and "." in label]
    more = [_further(label, values) for label in also if (values := _values(table, label))]
    return [f"The runs use {_list(parts)}", *([f"Further settings: {'; '.join(more)}"] if more else [])]


def _further(label: str, values: list[str]) -> str:
    """validation split 0.1; for some labels, a text per value"""
    words = WORDS.get(label.rpartition(".")[2], {})
    return listed([words[value] for value in values]) if {*values} <= {*words} else in_title(label, _list(values))


def _values(table: pd.DataFrame, label: str) -> list[str]:
    """Return the sorted distinct values as text."""
    found = table[label].dropna().unique() if label in table else []
    ordered = sorted(found, key=lambda value: (isinstance(value, str), value))
    return [str(value) if isinstance(value, str | bool | np.bool_) else _number(value, label) for value in ordered]


def _number(value: float, label: str) -> str:
    """2^-12 for a factor that is a power of two."""
    power = int(np.log2(value)) if label in FACTORS and value > 0 else 0
    return f"2^{power}" if abs(power) >= 3 and value == 2.0**power else f"{value:.10g}"


def _list(words: Sequence[str]) -> str:
    """a, b and c"""
    if len(words) > MOST and all(re.fullmatch(r"[\d.]+|2\^-?\d+", word) for word in words):
        return f"{words[0]} to {words[-1]} ({len(words)} values)"
    return listed(words)


def _seeds(results: Results, runs: pd.DataFrame, band: Band) -> Iterable[str]:
    labels = [label for label in ("algo", *results.problem, *results.options) if label in runs]
    counts = runs.groupby(labels, dropna=False)["seed"].nunique()
    least, most = int(counts.min()), int(counts.max())
    seeds = runs["seed"].unique()
    count = many(most, "seed") if len(seeds) == most else f"{most} of the seeds {ranges(seeds)}"
    yield f"Every configuration was run with {count if least == most else f'{least} to {count}'}"
    if band.used and most >= BAND_FROM:
        shown = KINDS[band.kind]
        yield f"Lines and markers show means{f', bands and error bars show {shown}' if shown else ''}"
    if band.used and least < BAND_FROM:
        yield f"With fewer than {BAND_FROM} seeds, each run is drawn by itself"


def _ends(results: Results, runs: pd.DataFrame) -> Iterable[str]:
    gone = int(runs["state"].isin(("nonfinite", "diverging")).sum())
    which = "a value became inf or NaN, or the training loss rose by more than 100 times its initial value"
    used = f"{len(runs)} runs used"
    yield f"Of the {used}, {gone} diverged: {which}" if gone else f"None of the {used} diverged"


def _in_tex(sentence: str) -> str:
    """Escape a text for LaTeX, except the formulas of metrics, indices and powers."""
    plain, formulas = FORMULAS.split(sentence), FORMULAS.findall(sentence)
    return "".join(part for pair in zip(map(_with_math, plain), [*formulas, ""], strict=True) for part in pair)


def _with_math(text: str) -> str:
    out, last = [], 0
    for match in MATH.finditer(text):
        letter, index, base, power = match.groups()
        below = (index or power).strip("()").replace("−", "-")
        name = r"\eta" if letter == "η" else letter or base
        out += [tex(text[last : match.start()]), f"${name}{'_' if letter else '^'}{{{below}}}$"]
        last = match.end()
    return "".join([*out, tex(text[last:])])
