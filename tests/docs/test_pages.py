"""The generated pages: one for each method, graph, dataset, model, compressor and network."""

import math

import pytest

from bench.base.registry import algorithms, compressors, datasets, models, networks, topologies
from hearsay_site.board import on_the_board, standings
from hearsay_site.curves import compute, config_of, stored
from hearsay_site.pages import generated
from hearsay_site.plot import plot

KINDS = {
    "methods": algorithms, "graphs": topologies, "datasets": datasets, "models": models, "compressors": compressors,
    "networks": networks,
}  # fmt: skip


@pytest.fixture(scope="module")
def pages():
    return dict(generated())


@pytest.mark.parametrize("kind", KINDS)
def test_every_name_has_a_page_and_a_row(kind, pages):
    names = list(KINDS[kind])
    assert {path for path in pages if path.startswith(f"catalog/{kind}/")} == {f"catalog/{kind}/{n}.md" for n in names}
    table = pages[f"catalog/{kind}.md"]
    assert [name for name in names if f"({kind}/{name}.md)" not in table] == []


def test_the_page_of_a_method_has_its_declarations(pages):
    page, properties = pages["catalog/methods/dsgt.md"], algorithms["dsgt"].declare_for({})
    assert r"$X^{+} = W (X - \eta_{t} U)$" in page
    assert f"| must know | {', '.join(properties.needs)} |" in page
    assert properties.cite in page
    assert properties.source in page
    assert "@misc{li2024problem," in page
    assert f"| `algo.eta` | `{algorithms['dsgt'].options()['eta'].default}` |" in page
    assert "<polyline" in page


def test_the_table_of_methods_says_the_same_as_their_pages(pages):
    rows = {
        line.split("`")[1]: line.split(" | ")
        for line in pages["catalog/methods.md"].splitlines()
        if "](methods/" in line
    }
    for name, row in rows.items():
        assert f"| must know | {row[2]} |" in pages[f"catalog/methods/{name}.md"]


def test_the_page_of_a_graph_has_its_certificate(pages):
    page = pages["catalog/graphs/ring.md"]
    assert "| edges | 8 | 16 | 64 |" in page
    assert f"| ρ | {(1 + 2 * math.cos(2 * math.pi / 8)) / 3:.6f} |" in page
    assert page.count("<svg") == 3


def test_commands_and_interface_have_their_docstrings(pages):
    assert "## bench/run.py" in pages["catalog/commands.md"]
    assert "## analysis/make_report.py" in pages["catalog/commands.md"]
    interface = pages["catalog/interface.md"]
    assert "### Algorithm\n" in interface
    assert "### topology\n" in interface
    assert "Parameters with a default are options, `topology.NAME`." in interface


def test_the_row_of_the_board_is_shown_if_there_are_results(tmp_path):
    assert standings(tmp_path) == {}
    assert list(on_the_board([])) == []
    lines = ["ruleset,price,method,tier,score,low,high", "tuned,gradients,dsgd,2.0,-0.25,-0.5,0.1"]
    lines += [
        "tuned,latency,dsgd,2.0,0.5,,",
        "tuned,gradients,pooled_dsgd,,2,1.5,2.5",
        "tuned,gradients,stranger,1.0,9,8,10",
    ]
    (tmp_path / "standings.csv").write_text("\n".join(lines), encoding="utf-8")
    found = standings(tmp_path)
    assert set(found) == {"dsgd"}
    _, table, _ = on_the_board(found["dsgd"])
    assert "| `dsgd` | tuned | 2 | −0.25 (−0.50 … 0.10) | 0.50 |  |" in table
    assert "| `pooled_dsgd` | tuned | not ranked | 2.00 (1.50 … 2.50) |  |  |" in table


def test_every_method_has_a_curve():
    curves = stored()
    assert set(curves) == set(algorithms)
    assert all(len(curve) > 10 and curve[0][0] == 0 for _, curve in curves.values())


def test_a_figure_shows_values_in_order_and_leaves_out_zeros():
    drawn = plot([0, 10, 20], {"error": [1.0, 0.1, 0.0]})
    points = drawn.partition('points="')[2].partition('"')[0].split()
    assert len(points) == 2
    assert float(points[0].split(",")[1]) < float(points[1].split(",")[1])


@pytest.mark.thorough
@pytest.mark.timeout(300)
def test_the_stored_curves_are_those_of_their_commands(tmp_path):
    """python docs/curves.py computes them again."""
    curves = stored()
    assert [name for name in algorithms if config_of(name, tmp_path).run_id != curves[name][0]] == []
    some = ["dnasa", "choco", "swift"]
    for name, (_, curve) in compute(some, tmp_path).items():
        for now, then in zip(curve, curves[name][1], strict=True):
            assert now == pytest.approx(then, rel=0.01, abs=1e-9), name
