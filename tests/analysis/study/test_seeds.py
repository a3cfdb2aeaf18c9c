"""Notes on seeds that differ between the points, lines and panels that a figure compares."""

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

import reproduction.register  # noqa: F401 (registers the figures and tables)
from analysis.drawing.bands import bands
from analysis.figures import drawings
from analysis.report.caption import caption
from analysis.results.results import Results
from analysis.study.figure_options import FigureOptions
from analysis.study.seeds import different_seeds
from analysis.tables import table_makers
from reproduction.figures.scale import COMMON
from tests.helpers.invented import made
from tests.helpers.mentions import mentions

LOW, HIGH = range(5), range(5, 10)
LOSSY = {"links": "lossy", "links.semantics": "reabsorb"}


def runs(label: str, seeds: Mapping[Any, Iterable[int]], algo: str = "dsgd", **more) -> list[dict]:
    """Runs at each value of a label with these seeds. The accuracy is 80 + seed, whatever the value."""
    return [
        {"algo": algo, label: value, "seed": seed, "end": 0.1 + seed / 100, "accuracy": 80.0 + seed, **more}
        for value, some in seeds.items()
        for seed in some
    ]


def notes_of(name: str, results: Results) -> list[str]:
    return drawings()[name].picture(results, FigureOptions()).notes


def seeds_of(rows: list[dict], along: Iterable[str] = ()) -> list[str]:
    results = made(rows)
    return different_seeds(results, set(results.runs["run_id"]), along)


@pytest.mark.parametrize(
    ("figure", "label", "places", "more"),
    [
        ("scale", "scale", {1.0: "c=1", 10.0: "c=10"}, {"eta": 0.1}),
        ("stretch", "input_scale", {1.0: "c=1", 10.0: "c=10"}, {"eta": 0.1}),
        ("stepsize", "eta", {0.1: "η=0.1", 1.0: "η=1"}, {}),
        ("packet_loss", "links.p", {0.0: "p=0", 0.3: "p=0.3"}, {"eta": 0.1, **LOSSY}),
        ("compression", "compressor", {"none": "compressor=none", "top_k": "compressor=top_k"}, {"eta": 0.1}),
        ("compare", "gossip", {"once": "gossip=once", "twice": "gossip=twice"}, {"eta": 0.1}),
    ],
)
def test_a_figure_names_the_seeds_of_each_value_of_its_setting(figure, label, places, more):
    (first, one), (second, other) = places.items()
    apart = made([*runs(label, {first: LOW, second: HIGH}, **more)])
    found = [note for note in notes_of(figure, apart) if "5–9" in note]
    assert len(found) == 1
    assert mentions(found[0], "D-SGD", f"0–4 at {one}", f"5–9 at {other}")
    same = made([*runs(label, {first: LOW, second: LOW}, **more)])
    assert not any("0–4" in note for note in notes_of(figure, same))


def test_graphs_of_one_figure_are_compared_on_their_seeds():
    rows = [
        row
        for graph, seeds in (("ring", LOW), ("complete", HIGH))
        for row in runs("eta", {0.1: seeds, 1.0: seeds}, topology=graph)
    ]
    assert any(
        mentions(note, "5–9 at topology=complete, 0–4 at topology=ring") for note in notes_of("topology", made(rows))
    )
    assert seeds_of(rows) == []  # on one graph, all points have the same seeds


def test_methods_with_the_same_seeds_share_a_clause():
    rows = [row for algo in ("dsgd", "dsgt") for row in runs("scale", {1.0: LOW, 4.0: HIGH}, algo)]
    (note,) = seeds_of(rows, ["scale"])
    assert mentions(note, "D-SGD, D-SGT 0–4 at c=1, 5–9 at c=4")
    assert note.count("0–4") == 1


def test_the_usual_seeds_are_named_once():
    """The seeds 10 to 14 are report seeds of the chosen stepsize: all stepsizes have the tuning seeds 0 to 2."""
    tuning, chosen = range(3), [*range(3), *range(10, 15)]
    rows = runs("eta", {0.1: tuning, 0.3: chosen, 1.0: tuning, 3.0: tuning})
    (note,) = seeds_of([*rows, *runs("scale", {1.0: tuning}, "dnasa")])
    assert note.endswith("D-NASA 0–2; D-SGD 0–2, 10–14 at η=0.3, else 0–2")


def test_many_sets_of_seeds_are_counted_and_not_listed():
    rows = runs("scale", {float(value): range(value, value + 1 + value % 3) for value in range(1, 9)})
    (note,) = seeds_of(rows, ["scale"])
    assert mentions(note, "D-SGD", "1 to 3 of the seeds 1–10")
    assert "c=" not in note


def test_labels_that_follow_from_the_value_are_not_named():
    """A digest follows from the slow factor, and a missing option makes no second point."""
    contents = {1.0: "fast", 4.0: "slow"}
    rows = [
        {**row, "network.content": contents[row["network.slow"]], "gossip": "once" if row["seed"] % 2 else None}
        for row in runs("network.slow", {1.0: LOW, 4.0: HIGH})
    ]
    (note,) = seeds_of(rows, ["network.slow", "network.content"])
    assert mentions(note, "0–4 at slow factor=1, 5–9 at slow factor=4")


def test_partitions_are_told_apart_by_their_options():
    rows = [
        *runs("partition", {"even": LOW}),
        *runs("partition.alpha", {0.1: LOW, 1.0: HIGH}, partition="dirichlet"),
    ]
    (note,) = seeds_of(rows, ["partition"])
    assert note.endswith("D-SGD 5–9 at partition=dirichlet α=1, else 0–4")
    (note,) = seeds_of([*runs("links.p", {0.1: LOW, 0.3: HIGH}, **LOSSY)], ["links"])
    assert note.endswith("D-SGD 0–4 at p=0.1, 5–9 at p=0.3")
    (note,) = seeds_of([*runs("rule", {None: LOW, "a": HIGH, "b": HIGH})])
    assert note.endswith("D-SGD 0–4 at rule=null, else 5–9")


def scaled(dnasa: Mapping[float, Iterable[int]], dsgd: Mapping[float, Iterable[int]]) -> Results:
    """D-NASA does not depend on c. The accuracy of D-SGD falls by log10 c."""
    less = {1.0: 0.0, 10.0: 1.0, 100.0: 2.0}
    rows = [{**row, "accuracy": row["accuracy"] - less[row["scale"]]} for row in runs("scale", dsgd, eta=0.1)]
    return made([*runs("scale", dnasa, "dnasa"), *rows])


def scale(results: Results):
    return drawings()["scale"].picture(results, FigureOptions())


def test_the_title_of_scale_compares_the_common_seeds():
    """Over the seeds 0 to 9 the mean of D-NASA is 84.5, over 0 to 4 it is 82."""
    few = dict.fromkeys((1.0, 10.0, 100.0), LOW)
    picture = scale(scaled({**few, 1.0: range(10)}, few))
    means = picture.data[picture.data["algo"] == "dnasa"].set_index("x")["mean"]
    assert means.to_dict() == {1.0: 84.5, 10.0: 82.0, 100.0: 82.0}
    assert mentions(picture.title, "only", "of D-NASA do not")
    assert COMMON in picture.notes
    assert COMMON not in scale(scaled(few, few)).notes
    assert any(mentions(note, "D-NASA 0–9 at c=1, else 0–4; D-SGD 0–4") for note in picture.notes)


@pytest.mark.parametrize("dsgd", [{1.0: LOW, 10.0: HIGH}, {1.0: LOW, 10.0: LOW}])
def test_the_title_of_scale_says_nothing_of_a_method_without_common_seeds(dsgd):
    """D-NASA has other accuracies at c = 10 only because it has other seeds there."""
    picture = scale(scaled({1.0: LOW, 10.0: HIGH}, dsgd))
    assert "only" not in picture.title


@pytest.mark.parametrize(
    ("seeds", "words"),
    [
        ({1.0: LOW, 10.0: HIGH}, "5 of the seeds 0–9"),
        ({1.0: range(3), 10.0: HIGH}, "3 to 5 of the seeds 0–2, 5–9"),
        ({1.0: LOW, 10.0: range(3)}, "3 to 5 seeds"),
        ({1.0: LOW, 10.0: LOW}, "5 seeds"),
    ],
)
def test_a_caption_counts_seeds_as_the_same_only_if_they_are(seeds, words):
    results = made(runs("scale", seeds, eta=0.1))
    drawing = drawings()["scale"]
    with bands("range") as band:
        said = caption(drawing, drawing.picture(results, FigureOptions()), results, band)
    assert any(sentence.endswith(f"run with {words}") for sentence in said)


def test_a_table_names_the_seeds_of_its_rows():
    rows = runs("eta", {0.1: LOW, 1.0: HIGH})
    notes = table_makers()["configurations"].make(made(rows), FigureOptions()).notes
    assert any(mentions(note, "0–4 at η=0.1, 5–9 at η=1") for note in notes)


def test_figures_that_compare_no_results_name_no_seeds():
    edges = {"rho": 0.5, "hash": "a", "nodes": 2, "edge_list": [[0, 1]], "period": 1}
    rows = runs("eta", {0.1: LOW, 1.0: HIGH}, nodes=2)
    results = made(rows, [{"mixing": edges} for _ in rows])
    assert not any("5–9" in note for note in notes_of("graphs", results))


def test_the_sensitivity_to_the_stepsize_uses_common_seeds():
    """At ten times η = 0.1 there are runs with other seeds only, which lose 40 points."""
    rows = [row for row in runs("eta", {0.03: LOW, 0.1: LOW, 1.0: HIGH}) if row["seed"] < 5]
    rows = [{**row, "accuracy": row["accuracy"] + (row["eta"] == 0.1)} for row in rows]
    worse = [{**row, "accuracy": 40.0} for row in runs("eta", {1.0: HIGH})]
    table = table_makers()["robustness"].make(made([*rows, *worse]), FigureOptions())
    assert table.data["lost_up"].isna().all()
    assert any(mentions(note, "D-SGD η=1") for note in table.notes)


def test_pairs_are_compared_per_problem():
    rows = [
        row for n, algo in itertools.product((4, 8), ("dsgd", "dsgt")) for row in runs("nodes", {n: range(n)}, algo)
    ]
    assert seeds_of(rows) == []
    (note,) = seeds_of([*rows, *runs("nodes", {4: range(2), 8: range(2)}, "dnasa")])
    assert mentions(note, "2 of 2 problems")
    (note,) = seeds_of([*rows, *runs("nodes", {4: range(2)}, "dnasa")])
    assert mentions(note, "1 of 2 problems", "D-NASA 0–1; D-SGD, D-SGT 0–3")
