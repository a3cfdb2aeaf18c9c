"""Methods tuned over more than a stepsize: what figures and tables choose and say, against the runs themselves."""

import pytest

from analysis.drawing.style import use_paper_style
from analysis.figures import drawings
from analysis.make_figures import main
from analysis.results.errors import NoData
from analysis.results.folder import load_folder
from analysis.study.figure_options import FigureOptions
from analysis.study.outcome import outcome
from analysis.study.select import VARIANTS
from analysis.study.tuning import tuned_over
from analysis.tables import table_makers
from tests.helpers import sweeps

pytestmark = pytest.mark.xdist_group("figures")


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    use_paper_style()
    folder = tmp_path_factory.mktemp("two")
    return load_folder(sweeps.make(folder, "two options", "multiplier"))


@pytest.fixture(scope="module")
def means(two):
    """By (η, α), taken from the rows without the figures' help."""
    mine = two.finals[two.finals["algo"] == "dasagt"]
    found = mine.groupby(["eta", "alpha"])["test_accuracy"].mean()
    assert found.nunique() == 6  # both options matter
    return found


def draw(name, results, **request):
    return drawings()[name].draw(results, FigureOptions(**request))


def words_of(picture):
    return [text.get_text() for text in picture.figure.legends[0].texts]


def test_a_method_is_tuned_over_all_its_swept_numbers(two, means):
    eta, alpha = means.idxmax()
    picture = draw("curves", two)
    assert picture.title.endswith("at its best setting")
    mine = picture.data[picture.data["algo"] == "dasagt"]
    assert (set(mine["eta"]), set(mine["alpha"])) == ({eta}, {alpha})
    assert mine[mine["metric"] == "test_accuracy"]["mean"].iloc[-1] == pytest.approx(means.max())
    assert f"D-ASAGT, η = {eta:g}, α = {alpha:g}" in words_of(picture)
    assert any(f"D-ASAGT η={eta:g}, α={alpha:g} (" in note for note in picture.notes)
    assert any(note.startswith("best setting:") for note in picture.notes)
    assert f"; D-ASAGT (η = {eta:g}, α = {alpha:g}) ends at {means.max():.2f} %" in outcome(two)[0]
    table = table_makers()["final"].make(two, FigureOptions())
    (row,) = table.data[table.data["algo"] == "dasagt"].to_dict("records")
    assert (row["eta"], row["alpha"], row["test_accuracy"]) == (eta, alpha, pytest.approx(means.max()))
    assert list(table.shown["α"]).count("—") == 1  # of D-NASA it was not swept
    assert f"{alpha:g}" in table.shown["α"].str.cat()


def test_against_one_option_with_the_others_at_their_best(two, means):
    eta, alpha = means.idxmax()
    picture = draw("stepsize", two, over="alpha")
    mine = picture.data[picture.data["algo"] == "dasagt"].set_index("x")
    assert mine["mean"].to_dict() == pytest.approx(means[eta].to_dict())
    assert set(mine["eta"]) == {eta}
    assert f"D-ASAGT, η = {eta:g}" in words_of(picture)
    assert picture.title == "Final test accuracy against α"
    assert picture.figure.axes[0].get_xlabel() == "α"
    stepsizes = draw("stepsize", two).data
    assert stepsizes[stepsizes["algo"] == "dasagt"].set_index("x")["mean"].to_dict() == pytest.approx(
        means.xs(alpha, level="alpha").to_dict()
    )
    table = table_makers()["robustness"].make(two, FigureOptions(over="alpha"))
    (row,) = table.data.to_dict("records")
    assert (row["alpha"], row["eta"], row["accuracy"]) == (alpha, eta, pytest.approx(means.max()))
    assert list(table.shown["others at"]) == [f"η = {eta:g}"]
    assert table.title == "Sensitivity to α"


def test_what_makes_a_variant_is_tuned_over_only_if_asked(two):
    finals = two.finals[two.finals["algo"] == "dnasa"]
    assert tuned_over(two, finals) == []
    assert tuned_over(two, finals, "multiplier") == ["multiplier"]
    assert set(draw("curves", two).data.query("algo == 'dnasa'")["runs"]) == {3}  # the three seeds as written
    ours = draw("stepsize", two, over="multiplier").data.query("algo == 'dnasa'")
    assert list(ours["x"]) == [0.5, 1.0, 2.0]
    expected = finals.groupby("multiplier")["test_accuracy"].mean()
    assert list(ours["mean"]) == pytest.approx(list(expected))
    picture = draw("stepsize", two)  # beside the stepsizes of others: a line without tuning, and a curve
    both = picture.data.query("algo == 'dnasa'")
    assert both["x"].isna().tolist() == [True, False, False, False]
    assert list(both["mean"]) == pytest.approx([expected[1.0], *expected])
    assert {"D-NASA", "D-NASA, scaled stepsizes"} <= set(words_of(picture))
    assert not any("D-NASA" in note and VARIANTS in note for note in picture.notes)  # they are drawn
    assert "D-NASA" in picture.figure.axes[0].get_xlabel()


def test_an_option_that_nobody_has(two, capsys):
    with pytest.raises(NoData, match="beta"):
        draw("stepsize", two, over="beta")
    assert main(["--results", two.source, "--figure", "stepsize", "--over", "beta"]) == 2
    assert "'beta'" in " ".join(capsys.readouterr())
