"""The claims of the paper: the evidence from small real sweeps, the document from the archive."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
import yaml

from analysis import check_claims, load
from analysis.claims.evidence import gather
from analysis.claims.verdicts import claims, judge
from analysis.results.archive import read_archive, write_archive
from analysis.results.errors import NoData
from analysis.results.read import read
from bench.base.registry import algorithms
from bench.method.schedules import stepsize_tables
from reproduction.document import SET, coverage
from reproduction.evidence.consensus import part_of_the_papers_bound, rho_tilde
from reproduction.graph_effect import experiments
from tests.helpers.cli import ROOT
from tests.helpers.few import few

pytestmark = pytest.mark.xdist_group("figures")
CLAIMS = claims(SET.file)
EXPERIMENTS = ROOT / "reproduction/conf/experiment"
VERDICTS = ROOT / "reproduction/verdicts"


def test_every_claim_of_the_paper_is_covered_or_has_a_reason():
    entries, known = coverage(), {one.id: one for one in CLAIMS}
    assert len(entries) == 27
    for one in entries:
        assert one["by"] or one["why"]
        assert set(one["by"]) <= set(known)
    named = {name for one in entries for name in one["by"]}
    assert {one.id for one in known.values() if one.kind in ("paper", "bound")} <= named


def test_every_claim_names_an_experiment_that_exists():
    known = CLAIMS
    assert len({one.id for one in known}) == len(known)
    for one in known:
        assert one.untestable or one.commands
        for name in (one.experiment, *one.also):
            assert name is None or (EXPERIMENTS / f"{name}.yaml").is_file()
        assert one.untestable or one.keeps(0.0) in (True, False)


def test_the_graph_effect_lists_every_experiment_with_its_problems_or_a_reason():
    listed = {one["experiment"]: one for one in experiments()}
    files = {str(path.relative_to(EXPERIMENTS).with_suffix("")) for path in EXPERIMENTS.rglob("*.yaml")}
    assert set(listed) == files
    assert len(listed) == len(experiments())
    for name, one in listed.items():
        assert ("why" in one) != ("problems" in one)
        plan = yaml.safe_load((EXPERIMENTS / f"{name}.yaml").read_text())
        blocks = [{"nodes": 8, "partition": "even", **plan.get("common", {}), **block} for block in plan["blocks"]]
        for problem in one.get("problems", ()):
            dataset, *others = problem.lower().split(", ")
            graph, _, nodes = next(word for word in others if "deviation" not in word).partition(" of ")
            split = next((word for word in others if "(" in word), "even").partition("(")[0]
            wanted = {"dataset": dataset, "topology": graph, "nodes": nodes or "8", "partition": split}
            has = [all(word in str(block[label]) for label, word in wanted.items()) for block in blocks]
            assert any(has), (name, problem)


def test_the_summary_counts_claims_runs_and_problems():
    summary = " ".join((ROOT / "reproduction/README.md").read_text().split())
    runs = len(pd.read_parquet(ROOT / "reproduction/archive/runs.parquet", columns=["run_id"]))
    assert f"evaluates {len(CLAIMS)} claims" in summary
    assert f"each of the {len(coverage())} claims of the paper" in summary
    assert f"from an archive of {runs} full-size runs" in summary
    text = (VERDICTS / "effect-of-the-graph.md").read_text().partition("Experiments without")[0]
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| ") and "experiments" not in line]
    effect = [row for row in rows if row[2].endswith(", effect")]
    assert f"on the {len(effect)} problems divided by labels" in summary
    assert all("dirichlet" in row[0] for row in effect)
    assert sum("dirichlet" in row[0] for row in rows) == len(effect) > 0
    assert f"none of the {len(rows) - len(effect)} others" in summary
    points = [row[3] for row in rows if "—" not in row[3]]
    assert f"lower on {sum(', effect' in cell for cell in points)} of {len(points)} problems" in summary


def test_notes_agree_with_the_verdicts():
    """Notes name the cases in which the paper's selection and a validation split differ."""
    part = {one.id: (VERDICTS / f"{one.id}.md").read_text() for one in CLAIMS}
    assert re.search(r"\| MNIST, random \(best.*not settled", part["competitive"])
    assert re.search(r"\| MNIST, random, even, validation split \(best.*yes \|", part["competitive_validated"])
    assert re.search(r"\| MNIST, random, D-SGT .*not settled", part["sensitive"])
    assert re.search(r"\| MNIST, random, even, validation split, D-SGT .*yes \|", part["sensitive_beyond"])
    summary = " ".join((ROOT / "reproduction/README.md").read_text().split())
    counts = {}
    for name in ("sensitive", "sensitive_beyond", "sensitive_dnasa"):
        words = [line.split(" | ")[3] for line in part[name].splitlines() if line.startswith(("| MNIST", "| a9a"))]
        counts[name] = (words.count("yes |"), words.count("no |"), len(words))
    (paper, _, papers), (beyond, _, others), (ours, less, swept) = counts.values()
    assert counts["sensitive"][1] == counts["sensitive_beyond"][1] == 0
    assert less == 0
    for settled, cases in (
        (paper, f"has {papers} cases"),
        (beyond, f"Of {others} further cases"),
        (ours, f"{swept} cases"),
    ):
        assert re.search(
            rf"{cases}\W[^.]*\.?[^.]*\b{settled} are settled, and [\w\s-]+ sensitive in all {settled}\.", summary
        )
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


KNOWN = ("speedup_fixed", "rate_dnasa", "consensus_sharp", "spike_lower", "scale_free", "table_1", "released")


ALSO = ("others_not_scale_free", "published_mnist")


@pytest.mark.parametrize(
    "some", [pytest.param(True, id="some"), pytest.param(False, id="all", marks=pytest.mark.thorough)]
)
def test_evidence_from_small_sweeps(results, some):
    """Each that has runs here gives finite numbers, and some are known."""
    asked = [one for one in CLAIMS if one.id != "tracking_invariant" and not one.untestable]
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
    runs.loc[hit, "state"] = "nonfinite"
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
    """Its case has no number and breaks the bound; the mean of the other seeds is not used."""
    (one,) = (one for one in CLAIMS if one.id == name)
    before, after = judge(one, results), judge(one, diverge(results, **BROKEN[name]))
    assert len(after.cases) == len(before.cases)
    assert any(np.isnan(case.found.value) for case in after.broken)


def test_the_fraction_of_the_papers_bound_from_the_stepsizes_of_the_run(results):
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
def test_an_archive_keeps_runs_and_evidence(results, folder, tmp_path):
    write_archive(results, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"runs.parquet", "rows.parquet", "facts.json"}
    back = read(tmp_path)
    assert back.options == results.options
    assert set(back.runs["run_id"]) == set(results.runs["run_id"])
    here, there = (r.finals.set_index("run_id").sort_index() for r in (results, back))
    for column in ("algo", "eta", "state", "rho", "heterogeneity", "test_accuracy", "fingerprint"):
        pd.testing.assert_series_equal(here[column], there[column], check_dtype=False, rtol=1e-6)
    table, kept = load(folder), load(tmp_path)
    kept_runs = table[table["state"].isin(["done", "nonfinite", "diverging"])].reset_index(drop=True)
    assert list(kept["run_id"]) == list(kept_runs["run_id"])
    for column in ("algo", "seed", "step", "test_accuracy"):
        pd.testing.assert_series_equal(kept[column], kept_runs[column], check_dtype=False, rtol=1e-6)
    different = json.loads((tmp_path / "facts.json").read_text())
    assert len(different) < len(back.runs) / 3  # what is of one run alone, its name above all, is not repeated
    assert "name" not in (tmp_path / "facts.json").read_text().partition('"host"')[2][:40]
    for one in CLAIMS:
        if one.id in ("spike_lower", "scale_free", "rate_dnasa", "released"):
            ours, theirs = (gather(one.evidence, r, one.parameters or {}) for r in (results, back))
            assert [case.found.value for case in ours] == pytest.approx([case.found.value for case in theirs], rel=1e-4)
    (tmp_path / "rows.parquet").write_bytes(b"PAR1")
    with pytest.raises(NoData):
        read_archive(tmp_path)


def test_one_claim_on_the_terminal(folder, capsys):
    assert check_claims.main(["--results", str(folder), "--claim", "scale_free"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("scale_free: holds\n")
    assert "| digits, ring, c from 0.5 to 4 | 0 |" in said


@pytest.mark.thorough
@pytest.mark.timeout(600)
def test_the_document_in_the_repository_is_what_the_archive_says(tmp_path):
    """Nothing in REPRODUCTION.md and on its pages was typed by hand."""
    words = ["--results", str(ROOT / "reproduction/archive"), "--out", str(tmp_path / "REPRODUCTION.md")]
    words += ["--pages", str(tmp_path / "reproduction/verdicts")]
    assert check_claims.main([*words, "--figures", str(tmp_path / "reproduction/archive/figures")]) == 0
    assert (tmp_path / "reproduction/archive/figures/spike.png").exists()
    made = {
        "REPRODUCTION.md",
        *(f"reproduction/verdicts/{page.name}" for page in (tmp_path / "reproduction/verdicts").iterdir()),
    }
    assert made == {"REPRODUCTION.md", *(f"reproduction/verdicts/{page.name}" for page in VERDICTS.iterdir())}
    for name in made:
        text = (tmp_path / name).read_text().replace(str(ROOT) + "/", "")
        assert text == (ROOT / name).read_text(), name
    size = sum(path.stat().st_size for path in (ROOT / "reproduction/archive").rglob("*") if path.is_file())
    assert size < 14_000_000


def test_the_summary_is_short_and_leads_to_every_page():
    """A page links back, and all links of the summary and the pages lead to files."""
    text = (ROOT / "REPRODUCTION.md").read_text()
    assert len(text.splitlines()) <= 150
    rows = [line for line in text.splitlines() if re.match(r"\| \d \| ", line)]
    assert len(rows) == len(CLAIMS)
    pages = sorted(VERDICTS.iterdir())
    assert set(re.findall(r"\]\(reproduction/verdicts/([\w-]+\.md)\)", text)) == {page.name for page in pages}
    for page in (ROOT / "REPRODUCTION.md", *pages):
        links = re.findall(r"\]\(([^)\s]+)\)", page.read_text())
        assert [link for link in links if not (page.parent / link).exists()] == [], page
        assert page not in pages or "../../REPRODUCTION.md" in links


def test_each_verdict_of_the_summary_is_that_of_its_page():
    text = (ROOT / "REPRODUCTION.md").read_text()
    found = dict(
        re.findall(r"^\| \d \| \[.*\]\(reproduction/verdicts/(\w+)\.md\) \| \*\*(.*)\*\* \|$", text, re.MULTILINE)
    )
    assert set(found) == {one.id for one in CLAIMS}
    for name, verdict in found.items():
        assert f"\n**{verdict[0].upper()}{verdict[1:]}.** (" in (VERDICTS / f"{name}.md").read_text(), name
