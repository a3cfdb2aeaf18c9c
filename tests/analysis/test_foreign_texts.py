"""Texts and numbers of somebody else, where a document, a bibliography or a figure is made of them."""

import csv
import json
import shutil
import warnings
from dataclasses import replace

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from matplotlib.figure import Figure
from rich.console import Console

from analysis import load, make_figures, make_report
from analysis.claims.sets import ClaimSet, claim_sets
from analysis.claims.verdicts import claims, judge
from analysis.drawing.style import escape_texts
from analysis.report.bibtex import bibliography
from analysis.report.claim_pages import Places, claim_pages, summary
from analysis.report.claims import document
from analysis.report.commands import run_command
from analysis.results.errors import NoData
from analysis.results.labels import METRICS
from analysis.results.read import read
from analysis.results.results import NETWORK_S
from analysis.results.warnings import warnings as warnings_of
from analysis.results.wording import ranges
from analysis.study.figure_options import FigureOptions
from analysis.study.outcome import outcome
from analysis.study.statistics import significantly_different
from analysis.tables.format import csv as as_csv
from bench.store import read_parquet
from bench.store.read_parquet import read_table
from bench.sweep.sweep import run_all
from tests.faults.harm_forged import sealed
from tests.helpers.configs import config

EVIL = "\x1b[2J<img src=x> ![p](http://x) [c](javascript:x)\n# Title"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    runs = [config(results=str(folder), algo=algo, seed=seed) for algo in ("dnasa", "dsgd") for seed in (0, 1, 2)]
    assert run_all(runs, Console(quiet=True)) == 0
    return folder


@pytest.fixture
def results(made, tmp_path):
    return shutil.copytree(made, tmp_path / "results")


def change(run, name, **values):
    sealed(run / name, {**json.loads((run / name).read_bytes()), **values})


def test_nothing_in_the_document_of_claims_is_obeyed(results, tmp_path):
    for run in (results / "runs").iterdir():
        change(run, "summary.json", dataset=EVIL, partition=EVIL)
        change(run, "manifest.json", versions={"torch": EVIL, EVIL: EVIL}, engine=EVIL, host={"machine": EVIL})
    found = read(results)
    (paper,) = claim_sets(None, str(results))
    verdicts = [judge(claim, found) for claim in claims(paper.file) if claim.id == "consensus_sum"]
    assert verdicts[0].cases
    mine = ClaimSet(paper.file, "mine.md", "Mine.")
    places = Places(tmp_path / "mine.md", tmp_path / "pages", tmp_path / "figures", str(results))
    pages = claim_pages(mine, verdicts, found, places)
    twin = replace(verdicts[0], claim=replace(verdicts[0].claim, id="Consensus_sum"))
    with pytest.raises(NoData, match="Consensus_sum"):
        claim_pages(mine, [*verdicts, twin], found, places)
    texts = [document(mine, verdicts, found, tmp_path / "figures", tmp_path), pages["consensus_sum"]]
    assert all("\\x1b[2J&lt;img src=x>" in text for text in texts)
    for text in (*texts, *pages.values(), summary(mine, verdicts, found, pages, places)):
        for command in ("\x1b", "<img", "](http", "](javascript", "\n# Title"):
            assert command not in text


def test_a_warning_has_no_commands_to_the_terminal(results):
    run, *_ = (results / "runs").iterdir()
    change(run, "summary.json", algo="\x1b[2J")
    change(run, "manifest.json", versions={"torch": "0"}, started="2026-01-02\x1b[2J")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        load(results)
    assert "\\x1b[2J" in str(said[0].message)
    assert "\x1b" not in str(said[0].message)


@pytest.mark.parametrize(
    "config",
    [
        *("seed: 2001-99-99", "seed: 2001-01-01", "seed: !!int ''", "seed: !!bool x", "seed: !!set {a, b}"),
        *("seed: !!timestamp x", "seed: !!binary aGk=", "seed: 1" + "0" * 5000, "? [a]\n: 1", "<<: 1"),
        *("a: " + "[" * 100_000, "a: " + "{a: " * 5000, "- " * 5000, "a: !!python/object/apply:os.getcwd []"),
    ],
)
def test_a_config_that_no_run_has_has_no_command(config):
    assert run_command(config, {}, "results") == ""


@pytest.mark.parametrize(
    "cite", ["Evil }{{ 2020", "Evil 2020, A}}{ title", "Evil 2020, A title, doi: 10.1/a}}\\input{x}"]
)
def test_braces_of_a_bibliography_are_balanced(results, cite):
    for run in (results / "runs").iterdir():
        declared = json.loads((run / "manifest.json").read_bytes())["algorithm"]
        change(run, "manifest.json", algorithm={**declared, "cite": cite})
    text = bibliography(read(results)).text()
    assert "\\input{" not in text
    depth = 0
    for letter in text:  # as BibTeX counts, to which a backslash is nothing
        depth += {"{": 1, "}": -1}.get(letter, 0)
        assert depth >= 0
        assert letter != "@" or depth == 0
    assert depth == 0


@pytest.mark.parametrize("deep", ["{" * 20 + "x" + "}" * 20, "\\hat" * 20 + " x"])
def test_a_formula_of_many_levels_is_drawn_literally(deep):
    figure = Figure()
    texts = [
        figure.text(0.5, 0.5, words) for words in (f"${deep}$", METRICS["grad_norm_mean"], METRICS["stationarity"])
    ]
    escape_texts(figure)
    assert [text.get_parse_math() for text in texts] == [False, True, True]


def test_of_runs_with_one_seed_the_first_is_compared():
    ours, theirs = pd.Series([1.0, 9.0, 2.0, 3.0], [0, 0, 1, 2]), pd.Series([0.0, 1.0, 2.0], [0, 1, 2])
    assert significantly_different(ours, theirs) == significantly_different(ours.iloc[[0, 2, 3]], theirs)


@pytest.mark.parametrize("algo", ["dnasa", "dsgd"])
def test_a_copy_of_a_run_counts_once(results, algo):
    before = len(read(results).finals)
    run = next((results / "runs").glob(f"{algo}-*"))
    copy = shutil.copytree(run, run.with_name("zcopy"))
    for name in ("summary.json", "manifest.json"):
        change(copy, name, run_id="zcopy")
    found = read(results)
    assert found.copies == ["zcopy"]
    assert len(found.finals) == before
    assert "zcopy" in warnings_of(found)[0]
    assert outcome(found, FigureOptions())
    without = replace(found, rows=found.rows[found.rows["run_id"] != run.name])
    assert "zcopy" in set(without.finals["run_id"])  # a run without evaluations hides no other


def test_seeds_may_be_far_apart():
    assert ranges([0, 1, 2**62], least=3) == f"0, 1, {2**62}"
    assert ranges([3, 4, 5], least=3) == "3–5"


def test_a_figure_that_cannot_be_saved_costs_no_other(results, tmp_path, monkeypatch, capsys):
    def fail(figure, folder, name, formats):
        raise ValueError("no such axis")

    monkeypatch.setattr(make_figures, "save", fail)
    words = ["--results", str(results), "--out", str(tmp_path), "--figure", "curves,final"]
    assert make_figures.main(words) == 1
    assert "no such axis" in capsys.readouterr().out
    assert (tmp_path / "table_final.csv").exists()


def test_texts_of_an_archive_do_not_grow_without_end(monkeypatch):
    monkeypatch.setattr(read_parquet, "TABLE", 10**6)
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 10_000, pa.int32()), pa.array(["x" * 1000]))
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"algo": texts}), sink, store_schema=False)
    assert sink.getvalue().size < 10_000
    before = pa.total_allocated_bytes()
    with pytest.raises(ValueError, match="texts"):
        read_table(sink.getvalue().to_pybytes(), texts=True)
    assert pa.total_allocated_bytes() - before < 10**6


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_no_cell_is_a_formula_whatever_separates_cells(separator):
    formula = "=cmd|' /C calc'!A0"
    signs = ["=1", "+x", "-x", "@x", "＝1", "＋x", "－x", "＠x"]
    between = ["x;{}", "x\t{}", "x\n{}", "x\r{}", ' "{}', 'x;"{}"', "x; {}", "a,b;\t{}", "{};{}"]
    cells = [pattern.replace("{}", text) for pattern in between for text in (formula, *signs)]
    table = pd.DataFrame({"plain": 1, **{f"{n};{cell}": [cell, "x"] for n, cell in enumerate(cells)}})
    for row in csv.reader(as_csv(table).splitlines(), delimiter=separator):
        for cell in row:
            assert cell.strip(' "')[:1] not in {*"=+-@＝＋－＠"}, cell


def test_texts_without_a_formula_stay_as_they_are():
    cells = ["a;b", "[1, -2]", "x=1", "a-b; c", "-1.5", "e\tf"]
    assert [row[0] for row in csv.reader(as_csv(pd.DataFrame({"a": cells})).splitlines())] == ["a", *cells]


def test_a_label_may_have_the_name_of_a_python_argument(results, tmp_path):
    change(min((results / "runs").iterdir()), "summary.json", self="x")
    out = ["--figure", "compare,final,configurations", "--format", "png", "--out", str(tmp_path / "figures")]
    assert make_figures.main(["--results", str(results), *out]) == 0
    assert {"compare.png", "table_final.csv"} <= {file.name for file in (tmp_path / "figures").iterdir()}


def test_a_label_adds_no_line_to_the_output(results, tmp_path, capsys):
    for run in (results / "runs").iterdir():
        if run.name.startswith("dsgd"):
            change(run, "summary.json", loss="mine\nForged: 1")
    out = ["--format", "png", "--out", str(tmp_path / "figures")]
    make_figures.main(["--results", str(results), "--figure", "compare,final,stepsize", *out])
    make_figures.main(["--results", str(results), "--where", "loss=mine", "--figure", "final", *out])
    shown = "".join(capsys.readouterr())
    assert "Forged" in shown
    assert not [line for line in shown.splitlines() if line.startswith("Forged")]


def test_a_label_with_the_name_of_a_computed_column_has_its_group(results):
    for place, run in enumerate((results / "runs").iterdir()):
        change(run, "summary.json", **{NETWORK_S: place / 4})
    assert make_report.main(["--results", str(results)]) == 0
    assert f"algo.{NETWORK_S}" in (results / "report.html").read_text()
