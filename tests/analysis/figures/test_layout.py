"""Options of the layout, exact sizes, captions and references: what a paper needs of a figure."""

import re

import numpy as np
import pandas as pd
import pytest
from matplotlib.image import imread

from analysis.drawing.bands import KINDS, MIXED, bands
from analysis.drawing.files import render, save
from analysis.drawing.layout import Layout, arrange
from analysis.drawing.lines import draw_against_setting, spread
from analysis.drawing.panels import legend, legend_entry, panels, tidy
from analysis.drawing.style import COLUMN, PAGE, styles, use_paper_style
from analysis.figures import drawings
from analysis.make_figures import main, parse
from analysis.report.bibtex import bibliography
from analysis.results.errors import NoData
from analysis.study.figure_options import FigureOptions
from tests.helpers.few import few
from tests.helpers.invented import made
from tests.helpers.mentions import mentions
from tests.messages import IGNORED

pytestmark = pytest.mark.xdist_group("figures")

FIGURES = few(
    ["compare", "consensus", "curves", "graphs", "heterogeneity", "profile", "scale", "speedup", "spike", "stepsize"],
    ["graphs", "scale", "stepsize"],
)


def draw(name, results, **request):
    return drawings()[name].draw(results, FigureOptions(**request))


def sides(path):
    height, width = imread(path).shape[:2]
    return width / 300, height / 300


def page_of(pdf):
    """The width and height of a PDF's page, in inches."""
    box = re.search(rb"/MediaBox \[ ?0 0 ([\d.]+) ([\d.]+) ?\]", pdf)
    return tuple(float(side) / 72 for side in box.groups())


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_exactly_a_column_or_the_page_wide(drawn, name, tmp_path):
    figure = drawn(name).figure
    png, pdf = save(figure, tmp_path, name, ["png", "pdf"])
    assert sides(png)[0] in (COLUMN, PAGE)
    assert page_of(pdf.read_bytes())[0] == pytest.approx(sides(png)[0], abs=1e-4)


@pytest.mark.parametrize("name", few(["stepsize", "compare", "consensus"], ["stepsize"]))
def test_a_figure_of_one_panel_is_a_column_wide(results, name):
    ring = results.where(
        [("dataset", ["digits"]), ("topology", ["ring"]), ("nodes", ["8"]), ("scale", ["1"]), ("input_scale", ["1"])]
    )
    assert draw(name, ring).figure.get_figwidth() == COLUMN


@pytest.mark.parametrize("name", FIGURES)
def test_no_axis_has_a_loose_factor(drawn, name):
    figure = drawn(name).figure
    render(figure, "svg")
    assert [
        ax.get_title() for ax in figure.axes for axis in (ax.xaxis, ax.yaxis) if axis.get_offset_text().get_text()
    ] == []


@pytest.mark.parametrize(("top", "label"), [(2.5e9, "2 G"), (4e6, "4 M"), (8e4, "80000"), (3e-7, r"$3{\cdot}10^{-7}$")])
def test_ticks_carry_their_own_factor(top, label):
    figure, axes = panels(1, 1)
    axes[0, 0].plot([0, top], [0, top])
    tidy(figure)
    figure.draw_without_rendering()
    for axis in (axes[0, 0].xaxis, axes[0, 0].yaxis):
        assert axis.get_offset_text().get_text() == ""
        assert label in [text.get_text().replace("\N{NO-BREAK SPACE}", " ") for text in axis.get_ticklabels()]


def lined(x=(1.0, 10.0, 100.0), y=(1.0, 2.0, 4.0)):
    figure, axes = panels(1, 1)
    axes[0, 0].plot(x, y)
    return figure, axes[0, 0]


def test_limits_and_scales_are_those_asked_for():
    figure, ax = lined()
    assert arrange(figure, Layout(xlim=(2, None), ylim=(None, 3), logx=True, logy=True)) == []
    assert ax.get_xlim()[0] == 2
    assert ax.get_ylim()[1] == 3
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert arrange(figure, Layout(logy=False)) == []
    assert ax.get_yscale() == "linear"


def test_a_figure_without_numbers_on_its_axes_uses_no_limits(drawn):
    assert arrange(drawn("graphs").figure, Layout(xlim=(0, 1), logx=True, legend="none")) == [
        "--logx", "--xlim", "--legend",
    ]  # fmt: skip


def test_marks_beyond_the_limits_are_not_drawn_beside_the_panel():
    figure, ax = lined()
    ax.plot([5, 1e39], [1, 1], transform=ax.get_xaxis_transform(), clip_on=False, marker="x")
    ax.set_xscale("log")
    assert arrange(figure, Layout(xlim=(1, 100))) == []
    assert list(ax.lines[-1].get_xdata()) == [5]


def test_a_logarithmic_axis_cannot_begin_at_0():
    figure, ax = lined()
    ax.set_yscale("log")
    assert arrange(figure, Layout(ylim=(0, None))) == ["--ylim"]


def with_legend(columns=2):
    use_paper_style()
    figure, axes = panels(1, columns)
    for ax in axes.flat:
        ax.plot([0, 1], [0, 1])
    look = styles(["dnasa", "dsgd", "dsgt"])
    legend(figure, [legend_entry(style) for style in look.values()])
    return figure


@pytest.mark.parametrize("place", ["above", "below", "right", "inside", "none"])
def test_a_legend_stands_where_it_is_asked_to(place):
    figure = with_legend()
    assert arrange(figure, Layout(legend=place)) == []
    figure.draw_without_rendering()
    inner = [ax.get_legend() for ax in figure.axes if ax.get_legend()]
    assert (len(figure.legends), len(inner)) == {"inside": (0, 1), "none": (0, 0)}.get(place, (1, 0))
    boxes = [ax.get_window_extent() for ax in figure.axes]
    for key in figure.legends:
        box = key.get_window_extent()
        assert [text.get_text() for text in key.get_texts()] == ["D-NASA", "D-SGD", "D-SGT"]
        assert {
            "above": box.y0 >= max(one.y1 for one in boxes),
            "below": box.y1 <= min(one.y0 for one in boxes),
            "right": box.x0 >= max(one.x1 for one in boxes),
        }[place]


@pytest.mark.parametrize(("asked", "width"), [((COLUMN, None), COLUMN), ((5.0, 3.0), 5.0)])
def test_a_size_is_kept_to_the_inch(asked, width, tmp_path):
    figure = with_legend(1)
    arrange(figure, Layout(size=asked, legend="right"))
    (png,) = save(figure, tmp_path, "own", ["png"])
    assert sides(png)[0] == width
    assert asked[1] in (None, sides(png)[1])


def test_bands_show_what_is_asked_for():
    values = pd.DataFrame({"run_id": list("abcdef"), "x": 0.0, "y": [1.0, 2, 3, 4, 5, 9], "state": "done"})
    found = {}
    for kind in ("range", "std", "ci", "none"):
        with bands(kind) as band:
            (found[kind],) = spread(values, "x", "y")[["low", "high"]].to_numpy()
        assert band.used
    mean, sd = values["y"].mean(), values["y"].std()
    half = 2.570582 * sd / np.sqrt(6)  # Student's t, 5 degrees of freedom
    assert found["range"].tolist() == [1, 9]
    assert found["std"] == pytest.approx([mean - sd, mean + sd])
    assert found["ci"] == pytest.approx([mean - half, mean + half], rel=1e-6)
    assert np.isnan(found["none"]).all()
    with bands("ci"):
        assert spread(values.head(4), "x", "y")["low"].isna().all()  # from five seeds on


def test_a_band_ends_where_there_is_no_mean():
    """Not with a corner at the point that diverged."""
    rows = [
        {"run_id": f"{e}{s}", "eta": e, "seed": s, "y": e + s, "state": "done"} for e in (1.0, 2, 3) for s in range(3)
    ]
    values = pd.DataFrame(rows)
    values.loc[values["eta"] == 3, "state"] = "nonfinite"
    _, axes = panels(1, 1)
    draw_against_setting(axes[0, 0], values, "eta", "y", styles(["dsgd"])["dsgd"])
    (band,) = axes[0, 0].collections
    (path,) = band.get_paths()
    assert np.isfinite(path.vertices).all()
    assert path.vertices[:, 0].max() == 2


@pytest.mark.parametrize(
    "words",
    ["--xlim 5,1", "--ylim a,b", "--xlim 1", "--ylim ,", "--xlim 0,inf", "--size 0,3", "--size tall", "--size 1,2,3",
     "--band sd", "--legend left"],
)  # fmt: skip
def test_a_bad_value_is_refused_and_named(words, capsys):
    with pytest.raises(SystemExit) as stop:
        main(words.split())
    assert stop.value.code == 2
    option, value = words.split()
    assert option in (said := capsys.readouterr().err)
    assert f"'{value}'" in said


def test_limits_may_begin_with_a_minus():
    arguments = parse(["--ylim", "-1,2.5", "--xlim", ",3", "--figure", "final"])
    assert (arguments.ylim, arguments.xlim, arguments.figure) == ((-1, 2.5), (None, 3), ["final"])


@pytest.fixture
def paper(folder, tmp_path, capsys):
    """The files of two figures and what the command said."""

    def call(*words, figures="stepsize,graphs"):
        out = tmp_path / "out"
        some = ["--where", "dataset=digits", "topology=ring", "nodes=8", "scale=1", "input_scale=1", "--format", "svg"]
        code = main(["--results", str(folder), "--out", str(out), "--figure", figures, *some, *words])
        return code, capsys.readouterr(), out

    return call


def test_options_of_the_layout_reach_the_file_and_the_unused_are_said(paper):
    code, said, out = paper("--size", "4,2.5", "--band", "std", "--legend", "none", "--xlim", "0.01,1")
    assert code == 0, said.err
    assert re.search(r'width="288pt" height="180pt"', (out / "stepsize.svg").read_text())
    assert f"{IGNORED}--xlim, --legend, --band)" in said.out
    assert said.out.count(IGNORED) == 1


def test_rejects_a_size_too_small_for_the_panels(paper):
    code, said, _ = paper("--size", "0.5,0.5", figures="stepsize")
    assert code == 2
    assert "0.5 × 0.5 inches" in said.out


def test_rejects_limits_without_data(paper):
    code, said, _ = paper("--ylim", "1000,2000", figures="stepsize")
    assert code == 2
    assert "1000 and 2000" in said.out


def test_a_caption_says_what_a_reader_must_know(paper):
    _, _, out = paper(figures="stepsize")
    text = (out / "stepsize.tex").read_text()
    assert r"\includegraphics{stepsize}" in text
    caption = text.partition(r"\caption{")[2]
    assert mentions(caption, "test accuracy", "digits", "MLP", "ring", "n = 8", "even", "T = 40")
    assert mentions(caption, "3 seeds", KINDS["range"], "21 runs", "6 diverged")
    assert r"D-NASA~\cite[Algorithm 2]{li2024problem}" in caption
    assert r"\begin{figure}" in text  # a column wide
    assert text.count("{") == text.count("}")
    cited = set(re.findall(r"\\cite(?:\[[^]]*\])?\{([^}]*)\}", text))
    assert cited <= set(re.findall(r"@misc\{([^,]+),", (out / "references.bib").read_text()))


@pytest.mark.thorough
def test_a_caption_tells_by_what_settings_were_chosen(folder, tmp_path):
    out = tmp_path / "out"
    words = ["--figure", "curves", "--where", "dataset=digits", "algo=dsgd,dsgt", "--format", "svg", "--band", "ci"]
    assert main(["--results", str(folder), "--out", str(out), *words]) == 0
    text = (out / "curves.tex").read_text()
    assert r"D-SGT $\eta$=0.1" in text
    assert mentions(text, "test accuracy", "on the test set")
    assert KINDS["ci"].replace("%", r"\%") in text
    assert "choose with" not in text


CITES = {
    "Lu, De Sa 2021, Complexity": ("Lu and {De Sa}", "2021", "lu2021complexity", ""),
    "Pu, Nedić 2021, Push–Pull Methods, Algorithm 2": (r"Pu and Nedi{\'c}", "2021", "pu2021pushpull", "Algorithm 2"),
    "Tong et al. 2018, D²: Training (v2)": ("Tong and others", "2018", "tong2018d2", "v2"),
    "Kempe, Dobra, Gehrke 2003": ("Kempe and Dobra and Gehrke", "2003", "kempe2003", ""),
}


@pytest.mark.parametrize("cite", CITES)
def test_a_reference_has_what_the_declaration_has(cite):
    author, year, key, where = CITES[cite]
    found = bibliography(made([{"algo": "own", "end": 1.0}], [{"algorithm": {"name": "own", "cite": cite}}]))
    assert found.citations["own"] == (rf"\cite[{where}]{{{key}}}" if where else rf"\cite{{{key}}}")
    assert f"author = {{{author}}}" in found.entries[key]
    assert f"year = {{{year}}}" in found.entries[key]
    assert ("title" in found.entries[key]) == (", " in cite.partition(year)[2])


def references(*cites):
    rows = [{"algo": f"own{k}", "end": 1.0} for k in range(len(cites))]
    return bibliography(made(rows, [{"algorithm": {"name": f"own{k}", "cite": c}} for k, c in enumerate(cites)]))


def test_references_invent_nothing_and_lose_nothing():
    two = references("Xu, Zhu 2015, Augmented Methods; Scutari 2016, NEXT")
    assert two.citations["own0"] == r"\cite{xu2015augmented,scutari2016next}"
    numbers = references("Li 2024, A Title, arXiv:2402.08821, doi:10.1000/abc").entries["li2024title"]
    assert "eprint = {2402.08821}" in numbers
    assert "doi = {10.1000/abc}" in numbers
    assert "title = {{A Title}}" in numbers
    assert references("folklore").entries == {"own0": "  note = {folklore}"}
    apart = references("Li 2024, Title one", "Li 2024, Title two")
    assert len(apart.entries) == len(set(apart.citations.values())) == 2
    once = references("Li 2024, Title one, Algorithm 1", "Li 2024, Title one, Algorithm 2")
    assert len(once.entries) == 1


def test_every_shipped_method_has_a_reference_with_author_title_and_year():
    from bench.base.registry import algorithms

    found = references(*(algorithms[name].declare_for({}).cite for name in algorithms))
    for body in found.entries.values():
        assert {"author", "title", "year"} <= set(re.findall(r"^  (\w+) =", body, re.M)), body
        assert body.isascii()


def test_a_point_with_two_runs_of_one_seed_is_not_drawn():
    table = pd.DataFrame(
        {"run_id": ["a", "b", "c"], "seed": [0, 1, 1], "x": [1.0, 1.0, 2.0], "loss": 0.5, "state": "done"}
    )
    assert list(spread(table, "x", "loss")["runs"]) == [2, 1]
    with pytest.raises(NoData, match=re.escape(MIXED)):
        spread(table.assign(x=1.0), "x", "loss")
