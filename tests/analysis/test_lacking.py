"""Reports, claims, figures and tables of archives that lack metrics."""

from pathlib import Path

import pytest

from analysis import make_report
from analysis.claims.evidence import EVIDENCE, case, gather
from analysis.claims.sets import ClaimSet
from analysis.claims.verdicts import Claim, Verdict
from analysis.drawing.style import use_paper_style
from analysis.figures import drawings
from analysis.report.claims import draw_figures
from analysis.results.archive import read_archive, write_archive
from analysis.results.errors import NoData
from analysis.results.fewer import with_metrics
from analysis.results.lacking import lacking_metrics_named
from analysis.study.figure_options import FigureOptions
from analysis.study.statistics.best import ALONE, report
from analysis.tables import table_makers
from tests.helpers.invented import results_of

pytestmark = pytest.mark.xdist_group("figures")


@pytest.fixture(scope="module")
def whole():
    use_paper_style()
    return results_of({"trial": 2})


@pytest.fixture(scope="module")
def archive(whole, tmp_path_factory):
    """An archive with the consensus error only."""
    folder = tmp_path_factory.mktemp("archive")
    write_archive(with_metrics(whole, ["consensus"]), folder)
    return folder


@pytest.fixture(scope="module")
def lacking(archive):
    return read_archive(archive)


def test_an_archive_without_losses_has_a_report(archive, tmp_path):
    assert make_report.main(["--results", str(archive), "--out", str(tmp_path / "page.html")]) == 0


def test_a_claim_on_a_metric_that_is_lacking_is_not_tested(lacking, monkeypatch):
    def losses(results):
        return [case("all", results.finals.groupby("seed")["train_loss"].mean(), 12)]

    monkeypatch.setitem(EVIDENCE, "losses", losses)
    assert gather("losses", lacking, {}) == []


@pytest.mark.parametrize("name", ["stepsize", "curves"])
def test_claims_are_written_without_figures_that_cannot_be_drawn(lacking, tmp_path, name):
    claim = Claim("id", "It is so.", "nowhere", figure=name, untestable="no run can")
    verdict = Verdict(claim, [], [], [], [])
    assert draw_figures(ClaimSet(Path("claims.yaml"), "CLAIMS.md", ""), [verdict], lacking, tmp_path) == {name: None}


@pytest.mark.parametrize("make", [lambda: drawings()["compare"].picture, lambda: table_makers()["final"].table])
def test_stepsizes_are_not_pooled_without_the_metric_that_chooses_one(whole, lacking, make):
    with pytest.raises(NoData, match=r"test_loss.* stepsize"):
        make()(lacking, FigureOptions())
    single = with_metrics(whole.where([("eta", ["0.1"])]), ["consensus"])
    make()(single, FigureOptions())  # there is nothing to choose
    make()(lacking, FigureOptions(tune_by="consensus"))


def test_a_single_setting_needs_no_metric(whole):
    single = with_metrics(whole.where([("eta", ["0.1"]), ("algo", ["trial_0"])]), ["consensus"])
    found = report(single.finals, ["eta"])
    assert (found.how, found.best.values, len(found.runs)) == (ALONE, {"eta": 0.1}, 3)


@pytest.mark.parametrize(("name", "metric"), [("stepsize", "test_loss"), ("curves", "train_loss")])
def test_a_figure_names_the_metric_that_the_results_lack(lacking, name, metric):
    with pytest.raises(NoData, match=f"'{metric}'"):
        drawings()[name].picture(lacking, FigureOptions())


def test_a_table_names_the_metric_that_the_results_lack(lacking):
    with pytest.raises(NoData, match="'test_accuracy'"):
        table_makers()["robustness"].table(lacking, FigureOptions())


def test_consensus_is_drawn_without_bounds(lacking):
    drawn = drawings()["consensus"].picture(lacking, FigureOptions(tune_by="consensus"))
    assert set(drawn.data["metric"]) == {"consensus"}


def test_another_missing_name_is_an_error_of_the_function(lacking):
    with pytest.raises(KeyError, match="no_metric"), lacking_metrics_named(lacking):
        lacking.finals["no_metric"]
