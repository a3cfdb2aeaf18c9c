"""Figures of networks that lose, compress and point one way, from invented numbers."""

from itertools import product

import pytest

from analysis.figures import drawings
from analysis.figures.packet_loss import KINDS
from analysis.results.errors import NoData
from analysis.results.results import Results
from analysis.results.rho import MEAN, PERIOD, RATE, ROUND
from analysis.study.families import with_options
from analysis.study.figure_options import FigureOptions
from analysis.study.tuning import at_best
from bench.network.certificate import EIGENVALUE, NORM, PRODUCT, SPECTRAL
from tests.helpers.invented import made

RING = {"nodes": 3, "edge_list": [[0, 1], [1, 2], [2, 0]], "hash": "a", "rho": 0.5, "period": 1}


def draw(name: str, results: Results):
    return drawings()[name].draw(results, FigureOptions())


def losses(semantics=("reabsorb", "zero_fill"), ps=(0.0, 0.3)) -> list[dict]:
    return [
        {"algo": algo, "links": "lossy", "links.semantics": form, "links.p": p, "seed": seed}
        | {"end": 1e-12 if form == "reabsorb" or p == 0 else p + 0.001 * seed}
        for algo, form, p, seed in product(("dsgt", "mine"), semantics, ps, range(3))
    ]


def test_loss_has_a_panel_per_semantics_and_a_line_per_method():
    picture = draw("packet_loss", made(losses()))
    titles = [ax.get_title(loc="left") for ax in picture.figure.axes]
    assert [title.rpartition(": ")[2] for title in titles] == ["reabsorb", "zero fill"]
    assert all(ax.get_yscale() == "log" for ax in picture.figure.axes)
    assert len({ax.get_ylim() for ax in picture.figure.axes}) == 1
    at = picture.data.set_index(["algo", "semantics", "x"])["mean"]
    assert at["mine", "reabsorb", 0.3] == pytest.approx(1e-12)
    assert at["dsgt", "zero_fill", 0.3] == pytest.approx(0.301)
    assert len(picture.runs) == 24


def test_loss_judges_a_stepsize_by_all_semantics():
    picture = draw("packet_loss", made([{**row, "eta": 0.1} for row in losses()]))
    assert len(picture.runs) == 24


def test_loss_does_not_average_over_other_options_of_the_links():
    outages = [{**row, "links": "outages"} for row in losses()]
    longer = [{**row, "links.length": length, "end": row["end"] * length} for row in outages for length in (2.0, 20.0)]
    picture = draw("packet_loss", made(longer))
    assert picture.data.set_index(["algo", "semantics", "x"])["mean"]["dsgt", "zero_fill", 0.3] == pytest.approx(0.602)
    assert len(picture.runs) == 24
    assert any("length 2; 24 runs" in note for note in picture.notes)


@pytest.mark.thorough
def test_loss_has_a_row_per_kind_of_links():
    both = losses() + [{**row, "links": "outages"} for row in losses()]
    picture = draw("packet_loss", made(both))
    assert len(picture.figure.axes) == 4
    assert {ax.get_xlabel() for ax in picture.figure.axes} == {KINDS["lossy"], KINDS["outages"]}


@pytest.mark.parametrize("rows", [losses(ps=(0.3,)), [{"algo": "dsgt", "links": "reliable", "end": 1.0}]])
def test_without_two_probabilities_there_is_a_sentence(rows):
    with pytest.raises(NoData, match=r"links\.p"):
        draw("packet_loss", made(rows))


def test_compression_has_a_line_per_compressor_along_bytes():
    forms = ("none", "sign", "top_k")
    picture = draw("compression", made([{"algo": "choco", "compressor": c, "end": 0.1} for c in forms]))
    assert [text.get_text() for text in picture.figure.legends[0].texts] == [
        f"choco, {'no compression' if c == 'none' else c}" for c in forms
    ]
    assert set(picture.data["x"]) == {20000, 40000}
    with pytest.raises(NoData, match="two compressors"):
        draw("compression", made([{"algo": "choco", "compressor": "sign", "end": 0.1}]))


def test_graphs_have_arrows_and_name_the_round():
    directed = {**RING, "directed": True, "hash": "b", "rho_is": EIGENVALUE}
    drawn = [{**RING, "drawn": True, "hash": str(seed), "edge_list": [[0, 1]], "period": None} for seed in range(3)]
    lost = {**RING, "rho": None, "period": None}
    facts = [{"mixing": mixing} for mixing in (directed, *drawn, lost, RING)]
    names = ["digraph", "matching", "matching", "matching", "ring", "ring"]
    picture = draw("graphs", made([{"algo": "sgp", "topology": name, "end": 1.0} for name in names], facts))
    titles = [ax.get_title() for ax in picture.figure.axes if ax.get_title()]
    assert titles == [
        "ring, n = 3\nρ = 0.500",
        "digraph, n = 3\nsecond |λ| = 0.500",
        "matching, n = 3, round 0\nρ = 0.500",
    ]
    assert [len(ax.patches) for ax in picture.figure.axes[:3]] == [0, 3, 0]
    assert any("first round" in note for note in picture.notes)


@pytest.mark.parametrize(
    ("said", "word", "sentence"),
    [
        ({}, "ρ = 0.500", ROUND),
        ({"rho_is": SPECTRAL}, "ρ = 0.500", ROUND),
        ({"rho_is": NORM}, "ρ = 0.500", ROUND),
        ({"rho_is": PRODUCT, "period": 2}, "ρ = 0.500 per period", PERIOD),
        ({"rho_is": EIGENVALUE}, "second |λ| = 0.500", RATE),
        ({"biased": True}, "second |λ| = 0.500", RATE),
        ({"rho_is": "√‖E[WᵀW] − 11ᵀ/n‖₂, exactly"}, "ρ = 0.500", MEAN),
    ],
)
def test_a_caption_says_what_rho_bounds(said, word, sentence):
    for name in ("graphs", "topology"):
        rows = [
            {"algo": "sgp", "topology": graph, "end": eta, "eta": eta, "rho": 0.5}
            for graph, eta in product(("one", "other"), (0.1, 0.2))
        ]
        facts = [{"mixing": {**RING, **said, "hash": row["topology"]}} for row in rows]
        picture = draw(name, made(rows, facts))
        titles = " ".join(ax.get_title() + ax.get_title(loc="left") for ax in picture.figure.axes)
        assert word in titles
        (note,) = [note for note in picture.notes if note.startswith(("ρ:", "second |λ|:"))]
        assert note.endswith(f": {sentence}")


def test_graphs_whose_rho_bounds_different_things_are_told_apart():
    facts = [{"mixing": RING}, {"mixing": {**RING, "hash": "b", "rho_is": PRODUCT}}]
    rows = [{"algo": "sgp", "topology": name, "end": 1.0} for name in ("ring", "one_peer")]
    notes = draw("graphs", made(rows, facts)).notes
    assert [note.partition(":")[0] for note in notes if "ρ" in note] == ["ρ of ring", "ρ of one_peer"]


def test_a_graph_whose_edges_are_not_listed_is_named_and_not_drawn():
    large = {
        "nodes": 4096,
        "edges": 8386560,
        "hash": "c",
        "rho": 0.0,
        "period": 1,
        "edges_by": "python bench/topology.py …",
    }
    rows = [{"algo": "sgp", "topology": name, "end": 1.0} for name in ("complete", "ring")]
    picture = draw("graphs", made(rows, [{"mixing": large}, {"mixing": RING}]))
    assert [ax.get_title() for ax in picture.figure.axes if ax.get_title()] == ["ring, n = 3\nρ = 0.500"]
    assert any("complete of 4096 nodes" in note for note in picture.notes)
    with pytest.raises(NoData, match="edges"):
        draw("graphs", made(rows[:1], [{"mixing": large}]))


def test_a_graph_with_loss_alone_says_that_nothing_is_known():
    lost = {**RING, "rho": None, "period": None}
    picture = draw("graphs", made([{"algo": "sgp", "topology": "ring", "end": 1.0}], [{"mixing": lost}]))
    assert picture.figure.axes[0].get_title() == "ring, n = 3\nρ unknown"


def test_compression_is_not_confused_by_a_method_with_an_option_called_form():
    forms = ["none", "top_k"]
    rows = [{"algo": "choco", "compressor": c, "end": 0.1} for c in forms]
    picture = draw("compression", made([*rows, {"algo": "gt", "form": "atc", "compressor": "none", "end": 0.1}]))
    assert sorted(picture.data["compressor"].unique()) == forms


def test_compression_of_nothing_but_explosions_is_refused():
    rows = [{"algo": "choco", "compressor": c, "eta": 0.1, "end": 1e9, "state": "diverging"} for c in ("none", "top_k")]
    with pytest.raises(NoData, match="diverged"):
        draw("compression", made(rows))


def test_heterogeneity_does_not_average_over_other_options_of_the_partition():
    rows = [
        {"algo": algo, "seed": seed, "partition": "by_label", "partition.pieces": pieces, "end": pieces}
        for algo, seed, pieces in product(("dnasa", "mine"), range(3), (1, 3))
    ]
    rows += [{"algo": algo, "seed": seed, "end": 2.0} for algo, seed in product(("dnasa", "mine"), range(3))]
    picture = draw("heterogeneity", made(rows))
    mine = picture.data[(picture.data["algo"] == "mine") & (picture.data["metric"] == "consensus")]
    ends = mine.set_index("split")["mean"].to_dict()
    assert ends == {"even": 2.0, "by_label, pieces 1": 1.0, "by_label, pieces 3": 3.0}


def test_several_runs_of_an_untuned_method_with_one_seed_are_not_averaged():
    found = made([{"algo": "dnasa", "seed": 0, "dataset": name, "end": 0.5} for name in ("a9a", "mnist")])
    with pytest.raises(ValueError, match="seed"):
        at_best(found, found.finals)


def test_an_option_without_a_value_is_told_from_one_with_a_value():
    rows = [{"algo": "a", "compressor": "top_k", "compressor.k": k, "end": 1.0} for k in (None, None, 3)]
    found = made([{**row, "seed": seed} for seed, row in enumerate(rows)])
    assert with_options(found.finals, ["top_k"] * 3, "compressor") == ["top_k", "top_k", "top_k, k 3"]
