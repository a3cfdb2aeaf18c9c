"""Verdicts: the logic by hand, the evidence from small real sweeps, the document from the archive."""

import io
import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
import yaml
from analysis.report.felt import experiments
from analysis.report.reproduction import case_rows, number
from rich.console import Console

from analysis import check_claims, load
from analysis.claims.evidence import EVIDENCE, Case, case, exact, gather, untested
from analysis.claims.verdicts import Claim, Verdict, claims, coverage, judge, settled
from analysis.results.archive import read_archive, write_archive
from analysis.results.errors import NoData
from analysis.results.read import read
from analysis.study.statistics import Interval
from bench.base.registry import algorithms
from bench.config.names import CONF
from bench.method.schedules import stepsize_tables
from reproduction.evidence.consensus import part_of_the_papers_bound, rho_tilde
from tests.helpers.cli import ROOT
from tests.helpers.few import few

pytestmark = pytest.mark.xdist_group("figures")


def claim(**holds: float) -> Claim:
    return Claim("id", "It is so.", "nowhere", "apples", holds, "of the test", "made_up", expects=("a", "c"))


def wide(name: str, value: float, low: float, high: float) -> Case:
    return Case(name, Interval(value, low, high, 5), 5)


def verdict(monkeypatch, bound: Claim, cases: list[Case]) -> Verdict:
    monkeypatch.setitem(EVIDENCE, "made_up", lambda results: cases)
    return judge(bound, None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("bound", "cases", "sentence"),
    [
        ({"at_most": 1.0}, {"a": 1.0, "c": 0.5}, "holds"),
        ({"at_least": 1.0}, {"a": 1.0, "c": 3.5}, "holds"),
        ({"within": 0.3}, {"a": -0.3, "c": 0.3}, "holds"),
        ({"within": 0.3}, {"a": -0.4, "c": 0.4}, "does not hold"),
        ({"at_most": 1.0}, {"a": 2.0, "b": 0.5, "c": 3.0}, "holds only if b"),
        ({"at_most": 1.0}, {"a": 2.0, "b": 0.5, "c": 0.3}, "holds only if not a"),
        ({"at_most": 1.0}, {"a": 0.0}, "holds; not tested here: c"),
        ({"at_most": 1.0}, {}, "not tested here"),
        ({"at_most": 1.0}, {"a": float("nan"), "c": 0.0}, "holds only if c"),  # a diverged run keeps no bound
        ({"at_most": 1.0}, {"a": float("inf"), "c": float("inf")}, "does not hold"),
        ({"at_least": 1.0}, {"a": float("inf"), "c": 2.0}, "holds"),
        ({"at_most": 1.0}, {"a": 0.0, "c": None}, "holds; not tested here: c"),
    ],
)
def test_the_words_of_a_verdict(monkeypatch, bound, cases, sentence):
    made = [untested(k) if v is None else exact(k, v, 1) for k, v in cases.items()]
    assert verdict(monkeypatch, claim(**bound), made).sentence == sentence


def test_what_is_not_settled_decides_nothing(monkeypatch):
    a, c, open_a = wide("a", 0.5, 0.2, 0.9), wide("c", 3.0, 2.0, 4.0), wide("a", 0.5, 0.2, 1.1)
    for cases, sentence in (
        ([a, c], "holds only if a"),
        ([open_a, c], "does not hold (1 of 2 cases not settled)"),
        ([open_a, replace(a, name="c")], "holds (1 of 2 cases not settled)"),
        ([open_a], "not settled; not tested here: c"),
        ([open_a, replace(open_a, name="b"), c], "not settled (2 of 3 cases, 1 breaks the bound)"),
        (
            [wide("a", 1.5, 0.9, 2.1), replace(open_a, name="c")],
            "not settled (2 of 2 cases, 1 of them leaning against it)",
        ),
        ([open_a, replace(open_a, name="b"), replace(a, name="c")], "not settled (2 of 3 cases, 1 keeps the bound)"),
        ([wide("a", 0.5, np.nan, np.nan), exact("c", 0.5, 1)], "holds (1 of 2 cases not settled)"),  # too few seeds
    ):
        assert verdict(monkeypatch, claim(at_most=1.0), cases).sentence == sentence
    for value, word in ((0.0, "does not hold"), (-0.1, "holds")):  # exactly on the bound is not below it
        assert verdict(monkeypatch, claim(below=0.0), [wide("a", value, value, value)]).word == word
    assert verdict(monkeypatch, claim(above=1.0), [wide("a", 1.1, 0.9, 1.3)]).word == "not settled"
    band = claim(within=0.4)
    assert not settled(band, wide("a", 0.45, -0.6, 1.5))
    assert not settled(band, wide("a", 0.3, 0.1, 0.5))
    assert not settled(band, wide("a", -0.3, -0.5, -0.1))
    assert settled(band, wide("a", 1.0, 0.6, 1.5))
    assert settled(band, wide("a", 0.1, -0.3, 0.3))


def test_what_is_shown_beside_is_not_judged(monkeypatch):
    cases = {"of": [wide("a", 0.5, 0.2, 0.9)], "also": [wide("b", 3.0, 2.0, 4.0), wide("c", 1.0, 0.5, 1.5)]}
    monkeypatch.setitem(EVIDENCE, "made_up", lambda results, which: cases[which])
    found = judge(replace(claim(at_most=1.0), parameters={"which": "of"}, beside={"which": "also"}), None)  # type: ignore[arg-type]
    assert found.sentence == "holds; not tested here: c"
    assert [row[3] for row in case_rows(found)] == ["yes", "no; not judged", "not settled; not judged"]


def test_what_no_run_could_tell_is_said(monkeypatch):
    beyond = replace(claim(at_most=1.0), untestable="The axis is another.")
    assert verdict(monkeypatch, beyond, [exact("a", 0.0, 1)]).word == "not testable"


def test_all_that_the_paper_claims_is_covered_or_said_why_not():
    told, known = coverage(), {one.id: one for one in claims()}
    assert len(told) == 27
    for one in told:
        assert one.by or one.why
        assert set(one.by) <= set(known)
    named = {name for one in told for name in one.by}
    # what the paper says is in the table; what it does not say is not called its claim
    assert {one.id for one in known.values() if one.kind in ("paper", "bound")} <= named


def test_every_claim_names_what_there_is():
    known = claims()
    assert len({one.id for one in known}) == len(known)
    for one in known:
        assert one.untestable or one.commands
        for name in (one.experiment, *one.also):
            assert name is None or (CONF / "experiment" / f"{name}.yaml").is_file()
        assert one.untestable or one.keeps(0.0) in (True, False)


def test_an_interval_is_told_from_its_middle():
    for found, said in (
        ((1.0047, 1.002, 1.0075), "1.005 [1.002, 1.008]"),
        ((0.47, 0.41, 0.538), "0.47 [0.41, 0.538]"),
        ((0.0, 0.0, 0.0), "0 [0, 0]"),
        ((1.00001, 0.99772, 1.0024), "1 [0.9977, 1.002]"),
    ):
        assert number(wide("a", *found)) == said
    assert number(case("a", [0.0] * 5, 5)) == "0 [0, 0], the same at every seed"


def test_every_experiment_says_whether_its_graph_is_felt():
    """With problems that it has, on a graph that is not complete, or with a reason."""
    told = {one["experiment"]: one for one in experiments()}
    files = {
        str(path.relative_to(CONF / "experiment").with_suffix("")) for path in (CONF / "experiment").rglob("*.yaml")
    }
    assert set(told) == files
    assert len(told) == len(experiments())
    for name, one in told.items():
        assert ("why" in one) != ("problems" in one)
        plan = yaml.safe_load((CONF / "experiment" / f"{name}.yaml").read_text())
        blocks = [{"nodes": 8, "partition": "even", **plan.get("common", {}), **block} for block in plan["blocks"]]
        for problem in one.get("problems", ()):
            dataset, *others = problem.lower().split(", ")
            graph, _, nodes = next(word for word in others if "deviation" not in word).partition(" of ")
            split = next((word for word in others if "(" in word), "even").partition("(")[0]
            wanted = {"dataset": dataset, "topology": graph, "nodes": nodes or "8", "partition": split}
            has = [all(word in str(block[label]) for label, word in wanted.items()) for block in blocks]
            assert any(has), (name, problem)


def test_the_readme_counts_claims_runs_and_problems():
    readme = " ".join((ROOT / "README.md").read_text().split())
    runs = len(pd.read_parquet(ROOT / "docs/reproduction/runs.parquet", columns=["run_id"]))
    assert f"goes through {len(claims())} claims" in readme
    assert f"from an archive of {runs} full-size runs" in readme
    text = (
        (ROOT / "REPRODUCTION.md").read_text().partition("## Is the graph felt?")[2].partition("Experiments without")[0]
    )
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| ") and "experiments" not in line]
    felt = [row for row in rows if row[2].endswith(", felt")]
    assert f"on the {len(felt)} problems divided by labels" in readme
    assert all("dirichlet" in row[0] for row in felt)
    assert sum("dirichlet" in row[0] for row in rows) == len(felt)
    assert f"none of the {len(rows) - len(felt)} others" in readme
    points = [row[3] for row in rows if "—" not in row[3]]
    assert f"by test accuracy on {sum(', felt' in said for said in points)} of {len(points)}," in readme


def test_what_notes_say_of_verdicts_is_so():
    """Where the paper's selection and that on samples set aside differ, a note says so."""
    text = (ROOT / "REPRODUCTION.md").read_text()
    part = {one.id: text.partition(f'id="{one.id}"')[2].partition("```bash")[0] for one in claims()}
    assert re.search(r"\| MNIST, random \(best.*not settled", part["competitive"])
    assert re.search(r"\| MNIST, random, even, samples set aside \(best.*yes \|", part["competitive_validated"])
    assert re.search(r"\| MNIST, random, D-SGT .*not settled", part["sensitive"])
    assert re.search(r"\| MNIST, random, even, samples set aside, D-SGT .*yes \|", part["sensitive_beyond"])
    readme = " ".join((ROOT / "README.md").read_text().split())
    counts = {}
    for name in ("sensitive", "sensitive_beyond", "sensitive_dnasa"):
        words = [line.split(" | ")[3] for line in part[name].splitlines() if line.startswith(("| MNIST", "| a9a"))]
        counts[name] = (words.count("yes |"), words.count("no |"), len(words))
    (paper, _, papers), (beyond, _, others), (ours, less, swept) = counts.values()
    assert counts["sensitive"][1] == counts["sensitive_beyond"][1] == 0
    said = f"in all {paper} of the paper's {papers} cases that are settled, and in all {beyond} of {others} others"
    assert said in readme
    assert f"is in {ours} of the {ours + less} settled cases of {swept}." in readme
    assert re.search(r"\| MNIST, ring of 32.*\| not settled; not judged \|", part["felt_accuracy"])
    assert re.search(r"\| MNIST, ring of 32.*\| yes \|", part["felt_accuracy"])
    for graph in ("ring", "ladder"):
        assert re.search(rf"\| a9a, {graph}, T = 5001 \(.*yes \|", part["felt_dnasa"])
        assert re.search(rf"\| a9a, {graph} \(.*η = 0.5 .*yes; not judged \|", part["felt_even"])
    for name, word in (("multiplier_up", "yes"), ("multiplier_down", "no")):
        assert len(re.findall(rf"\| MNIST, random.*\| {word} \|", part[name])) == 2
    for graph in ("ring", "ladder", "random"):
        assert re.search(rf"\| a9a, {graph} \(.*not settled", part["felt_even"])
        assert re.search(rf"\| a9a, {graph} \(.*(not settled|no) \|", part["felt_even_accuracy"])


@pytest.mark.parametrize(
    "bound", ["{}", "{at_most: 1, at_least: 0}", "{about: 1}", "{at_most: abc}", "{at_most: .nan}", "1"]
)
def test_a_claim_has_one_bound(bound, tmp_path):
    file = tmp_path / "mine.yaml"
    entry = "{id: mine, claim: So., source: here, unit: m, evidence: spike_ratio, because: so, holds: %s}"
    file.write_text("- " + entry % bound)
    with pytest.raises(
        NoData, match="'holds' of mine must be one of at_most, at_least, within, below, above with a number; got"
    ):
        claims(file)


KNOWN = ("speedup_fixed", "rate_dnasa", "consensus_sharp", "spike_lower", "scale_free", "table_1", "released")
ALSO = ("others_not_scale_free", "published_mnist")


@pytest.mark.parametrize(
    "some", [pytest.param(True, id="some"), pytest.param(False, id="all", marks=pytest.mark.thorough)]
)
def test_evidence_from_small_sweeps(results, some):
    """Each that has runs here gives finite numbers, and some are known."""
    asked = [one for one in claims() if one.id != "tracking_invariant" and not one.untestable]
    asked = [one for one in asked if one.id in (*KNOWN, *ALSO)] if some else asked
    found = {one.id: gather(one.evidence, results, one.parameters or {}) for one in asked}
    for name in KNOWN:
        assert found[name], name
        assert all(np.isfinite(case.found.value) for case in found[name])
    assert [case.found.value for case in found["scale_free"]] == [0.0]
    assert found["others_not_scale_free"][0].found.value > 0.01
    assert all(case.found.value <= 1 for case in found["consensus_sharp"])
    assert all(case.found.value == 0 for case in found["table_1"])
    assert found["published_mnist"] == []


def diverge(results, **labels):
    """The same results, but these runs diverged."""
    runs = results.runs.copy()
    hit = pd.Series(True, index=runs.index)
    for name, value in labels.items():
        hit &= runs[name] == value
    assert hit.any()
    runs.loc[hit, "state"] = "diverged"
    rows = results.rows.copy()
    last = rows.drop_duplicates("run_id", keep="last").index
    gone = rows.index.isin(last) & rows["run_id"].isin(runs.loc[hit, "run_id"])
    rows.loc[gone, ["test_accuracy", "test_loss", "train_loss", "grad_norm", "grad_norm_mean", "consensus"]] = np.nan
    return replace(results, runs=runs, rows=rows)


BROKEN = {
    "spike_lower": {"dataset": "spike", "algo": "dnasa", "seed": 0},
    "rate_dnasa": {"dataset": "synthetic", "algo": "dnasa", "schedule": "fixed", "seed": 1},
    "speedup_fixed": {"dataset": "synthetic", "algo": "dnasa", "schedule": "fixed", "seed": 1},
    "scale_free": {"dataset": "digits", "algo": "dnasa", "scale": 4.0},
    "heterogeneity_trackers": {"algo": "dnasa", "partition": "dirichlet", "seed": 2},
}


@pytest.mark.parametrize("name", few(BROKEN, ["spike_lower"]))
def test_a_run_that_diverges_never_improves_a_verdict(results, name):
    """It gives a case without a number, which keeps no bound, in place of a mean of the survivors."""
    (one,) = (one for one in claims() if one.id == name)
    before, after = judge(one, results), judge(one, diverge(results, **BROKEN[name]))
    assert len(after.cases) == len(before.cases)
    assert any(np.isnan(case.found.value) for case in after.broken)


def test_the_parts_of_the_bounds_against_the_suites_own_stepsizes(results):
    """Σ η_t² from the schedule that the run used, and the consensus error of its rows, run by run."""
    finals = results.finals
    mine = finals[(finals["algo"] == "dnasa") & (finals["dataset"] == "synthetic") & (finals["nodes"] == 4)]
    parts = []
    for run in mine.to_dict("records"):
        options = [{"schedule": run["schedule"], "multiplier": 1.0, "alpha": 0.3}]
        eta = stepsize_tables(algorithms["dnasa"].stepsizes, options, 4, run["steps"], torch.float64)["eta"].values
        rows = results.rows[results.rows["run_id"] == run["run_id"]]
        parts.append(np.trapezoid(rows["consensus"], rows["step"]) / (rho_tilde(run["rho"]) * (eta**2).sum()))
    cases = {case.name: case.found.value for case in part_of_the_papers_bound(results)}
    assert cases["synthetic, ring of 4, even"] == pytest.approx(max(parts), rel=1e-9)


@pytest.mark.thorough
def test_an_archive_tells_the_same_story(results, folder, tmp_path):
    write_archive(results, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"runs.parquet", "rows.parquet", "facts.json"}
    back = read(tmp_path)
    assert back.options == results.options
    assert set(back.runs["run_id"]) == set(results.runs["run_id"])
    here, there = (r.finals.set_index("run_id").sort_index() for r in (results, back))
    for column in ("algo", "eta", "state", "rho", "heterogeneity", "test_accuracy", "fingerprint"):
        pd.testing.assert_series_equal(here[column], there[column], check_dtype=False, rtol=1e-6)
    table, kept = load(folder), load(tmp_path)
    kept_runs = table[table["state"].isin(["done", "diverged", "exploded"])].reset_index(drop=True)
    assert list(kept["run_id"]) == list(kept_runs["run_id"])
    for column in ("algo", "seed", "step", "test_accuracy"):
        pd.testing.assert_series_equal(kept[column], kept_runs[column], check_dtype=False, rtol=1e-6)
    different = json.loads((tmp_path / "facts.json").read_text())
    assert len(different) < len(back.runs) / 3  # what is of one run alone, its name above all, is not repeated
    assert "name" not in (tmp_path / "facts.json").read_text().partition('"host"')[2][:40]
    for one in claims():
        if one.id in ("spike_lower", "scale_free", "rate_dnasa", "released"):
            ours, theirs = (gather(one.evidence, r, one.parameters or {}) for r in (results, back))
            assert [case.found.value for case in ours] == pytest.approx([case.found.value for case in theirs], rel=1e-4)
    (tmp_path / "rows.parquet").write_bytes(b"PAR1")
    with pytest.raises(NoData, match="no archive that can be read"):
        read_archive(tmp_path)


def test_one_claim_on_the_terminal(folder, capsys):
    assert check_claims.main(["--results", str(folder), "--claim", "scale_free"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("scale_free: holds\n  D-NASA is scale-free in f")
    assert "| digits, ring, c from 0.5 to 4 | 0 |" in said


def test_a_terminal_gets_lines_that_fit_and_a_table(monkeypatch):
    long = "a9a, ring of 32 with a name that is longer than half of any line"
    found = verdict(monkeypatch, claim(at_most=1.0), [wide(long, -0.0172, -0.0865, 0.0521), exact("c [x]", 0.5, 3)])
    found = replace(found, claim=replace(found.claim, claim="It is so. " * 20))
    check_claims.show(found, Console(file=(out := io.StringIO()), width=80, force_terminal=True, color_system=None))
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert "|---" not in out.getvalue()
    assert "│ -0.0172 [-0.0865, 0.0521] │" in out.getvalue()
    assert "c [x]" in out.getvalue()
    assert all(word in out.getvalue() for word in long.split())


def test_bad_input(tmp_path, capsys):
    assert check_claims.main(["--results", str(tmp_path / "nowhere")]) == 2
    assert "Nothing can be checked: there is no folder" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        check_claims.main(["--claim", "the_earth_is_flat"])
    assert "there is no claim 'the_earth_is_flat'; there are " in capsys.readouterr().err
    with pytest.raises(SystemExit):
        check_claims.main(["--claim", "spike_lowr"])
    assert "there is no claim 'spike_lowr' (did you mean 'spike_lower'?); there are " in capsys.readouterr().err


@pytest.mark.parametrize(("wrong", "what"), [(None, "NoneType"), ([1.0], "a list with something else in it")])
def test_evidence_that_returns_no_cases_is_told_where_it_stands(monkeypatch, wrong, what):
    def made_up(results):
        return wrong

    monkeypatch.setitem(EVIDENCE, "made_up", made_up)
    line = made_up.__code__.co_firstlineno
    found = judge(claim(at_most=1.0), None)  # type: ignore[arg-type]
    assert found.word == "no verdict"
    said = found.trouble
    assert said == f"TypeError: made_up must return a list of cases, and returned {what} (test_claims.py, line {line})"


MINE = """
- {id: near, claim: Nobody goes far., source: here, evidence: change_with_units, with: {algo: dnasa, what: scale},
   unit: parts, holds: {at_most: 0}, because: so}
- {id: odd, claim: It works., source: here, evidence: failing, unit: parts, holds: {at_most: 0}, because: so}
"""


@pytest.mark.thorough
def test_claims_of_ones_own_are_called_so_and_one_that_fails_stops_no_other(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(EVIDENCE, "failing", lambda results: [][1])
    (tmp_path / "mine.yaml").write_text(MINE)
    words = ["--results", str(folder), "--claims", str(tmp_path / "mine.yaml")]
    assert check_claims.main([*words, "--figures", str(tmp_path)]) == 1
    assert not (folder / "REPRODUCTION.md").exists()  # that is for the paper's
    shutil.move(folder / "mine.md", tmp_path)
    said, page = capsys.readouterr().out, (tmp_path / "mine.md").read_text()
    assert "near: holds\n  Nobody goes far.\n  parts; to hold: at most 0, because so\n" in said
    assert "odd: no verdict: its evidence failed, IndexError: list index out of range (test_claims.py" in said
    assert page.startswith("# Claims, checked\n\nThe claims of mine.yaml")
    assert "paper" not in page.partition("## What was run")[0]
    assert page.count("\n## ") - page.count("\n## Ho") - page.count("\n## Final") <= 4
    (tmp_path / "mine.yaml").write_text("- {id: x}")
    assert check_claims.main(words) == 2
    assert "the claim x lacks claim and source" in capsys.readouterr().err


@pytest.mark.thorough
@pytest.mark.timeout(600)
def test_the_document_in_the_repository_is_what_the_archive_says(tmp_path):
    """Nothing in REPRODUCTION.md was typed by hand."""
    words = ["--results", str(ROOT / "docs/reproduction"), "--out", str(tmp_path / "REPRODUCTION.md")]
    assert check_claims.main([*words, "--figures", str(tmp_path / "figures")]) == 0
    assert (tmp_path / "figures" / "spike.png").exists()
    made = (tmp_path / "REPRODUCTION.md").read_text().replace(str(ROOT) + "/", "")
    kept = (ROOT / "REPRODUCTION.md").read_text()
    links = [line for line in made.splitlines() if line.startswith("![")]
    plain = [line for line in made.splitlines() if not line.startswith("![")]
    assert plain == [line for line in kept.splitlines() if not line.startswith("![")]
    assert len(links) == kept.count("\n![") >= 8
    size = sum(path.stat().st_size for path in (ROOT / "docs/reproduction").rglob("*") if path.is_file())
    assert size < 14_000_000
