"""Whatever differs between settings is said: in tables, in titles, in notes, and one is chosen for a reason."""

from itertools import product

import pandas as pd
import pytest

from analysis.figures import drawings
from analysis.results.results import Results
from analysis.results.warnings import mixed_sources
from analysis.study.families import one_setting, uneven_splits
from analysis.study.figure_options import FigureOptions
from analysis.study.select import problems
from analysis.study.settings import apart, in_order
from analysis.tables import format as words
from analysis.tables import table_makers
from analysis.tables.latex import latex
from tests.helpers.invented import made
from tests.helpers.mentions import mentions

GRAPHS = {"ring": "metropolis", "star": "max_degree"}


def rows(eta=(0.1, 0.2), seeds=3, **labels) -> list[dict]:
    """Every combination of these labels; what differs in them ends differently."""
    out = []
    for number, values in enumerate(product(*labels.values())):
        for e, seed in product(eta, range(seeds)):
            said = {"algo": "choco", "eta": e, "seed": seed, **dict(zip(labels, values, strict=True))}
            said |= {"end": 0.1 + 0.01 * number + e + 0.001 * seed}
            if "topology" in said:
                said["topology.weights"] = said.get("topology.weights", GRAPHS[said["topology"]])
            out.append(said)
    return out


def lossy(ps=(0.4, 0.0, 0.1), seeds=3) -> list[dict]:
    each = rows(seeds=seeds, **{"links": ("lossy",), "links.semantics": ("reabsorb",), "links.p": ps})
    return [{**row, "algo": algo} for row, algo in product(each, ("dsgt", "sgp"))]


def draw(name: str, results: Results, **asked):
    return drawings()[name].draw(results, FigureOptions(**asked))


def titles(picture) -> list[str]:
    found = [ax.get_title(loc="left").replace("\n", " ") for ax in picture.figure.axes]
    return [title for title in found if title]


def test_what_follows_from_another_choice_is_not_said():
    some = made(rows(topology=("ring", "star"), compressor=("none", "top_k")))
    some.runs["compressor.fraction"] = some.runs["compressor"].map({"top_k": 0.1})
    some.runs["batch_size"] = 32
    assert apart(problems(some, some.finals)).labels == ["compressor"]
    two = made([*rows(dataset=("a9a",), batch_size=(32,)), *rows(dataset=("digits",), batch_size=(8,))])
    assert apart(problems(two, two.finals)).labels == []  # the dataset brought it
    more = made([*rows(dataset=("a9a",), batch_size=(32, 8)), *rows(dataset=("digits",), batch_size=(8,))])
    assert apart(problems(more, more.finals)).labels == ["batch_size"]


def test_the_neutral_one_is_first_then_the_smaller():
    some = made(rows(compressor=("top_k", "none"), batch_size=(16, 8)))
    found = [(key["compressor"], key["batch_size"]) for key, _ in in_order(problems(some, some.finals))]
    assert found == [("none", 8), ("none", 16), ("top_k", 8), ("top_k", 16)]


@pytest.mark.parametrize("name", ["final", "robustness", "configurations"])
def test_a_table_says_of_every_row_which_setting_it_is(name):
    some = made(
        [{**row, "accuracy": 90 - row["end"]} for row in rows(compressor=("top_k", "none"), batch_size=(16, 8))]
    )
    table = table_makers()[name].make(some, FigureOptions())
    told = list(dict.fromkeys(table.shown["other settings"]))
    assert told == [f"compressor={form} batch_size={size}" for form in ("none", "top_k") for size in (8, 16)]


def test_any_label_can_be_a_column_and_bold_stays_within_a_setting():
    some = made([{**row, "end": row["end"] + GOOD[row["algo"]]} for row in lossy(seeds=5)])
    table = table_makers()["final"].make(some, FigureOptions(columns=("graph", "links.p", "method", "test_loss")))
    few = words.chosen(table, ("graph", "links.p", "method", "test_loss"), some)
    assert [line.split(" | ")[1] for line in words.markdown(few, "t").splitlines() if line.startswith("| ring")] == [
        *("0", "0", "0.1", "0.1", "0.4", "0.4")
    ]
    text = latex(few, "t")
    assert text.count(r"\mathbf") == 3  # the better method at each p
    assert "% in every row: n = 8" in text
    assert "links=lossy" not in text.split(r"\begin{tabular}")[1]


GOOD = {"dsgt": 0.0, "sgp": 0.5}


def test_figures_that_show_one_setting_say_which_and_take_the_neutral_one():
    some = made(lossy())
    for name in ("stepsize", "curves"):
        (note,) = [note for note in draw(name, some).notes if "drawn for" in note]
        assert "topology=ring nodes=8 steps=400 links=lossy links.p=0.0; 2 " in note
    network = made(rows(topology=("star", "ring"), compressor=("top_k", "none")))
    for name in ("topology", "consensus"):
        picture = draw(name, network.of(network.finals))
        assert set(picture.data["compressor"]) == {"none"}  # the same in both panels
        assert any("compressor=none" in note for note in picture.notes)


def test_a_figure_of_two_datasets_says_in_what_else_they_differ():
    some = made([*rows(dataset=("a9a",), compressor=("none",)), *rows(dataset=("digits",), compressor=("top_k",))])
    notes = draw("stepsize", some).notes
    assert any("digits" in note and "compressor=top_k" in note for note in notes)
    assert any("a9a" in note and "compressor=none" in note for note in notes)


def test_compare_titles_name_all_that_differs_in_order():
    some = made(rows(compressor=("top_k", "none"), batch_size=(16, 8)))
    assert titles(draw("compare", some, metrics=("test_loss",))) == [
        f"a9a, ring graph, compressor {form}, batch size {size}" for form in ("none", "top_k") for size in (8, 16)
    ]
    ps = {"links": ("lossy",), "links.p": (0.5, 0.1, 0.2, 0.3, 0.4)}
    five = draw("compare", made(rows(eta=(0.1,), partition=("by_label",), **ps)), metrics=("test_loss",))
    assert titles(five) == [f"a9a, ring graph, p {p}" for p in (0.1, 0.2, 0.3, 0.4)]
    assert mentions(five.notes[0], "4 settings", "5")
    assert five.notes[1].endswith(" partition=by_label links=lossy")


def test_compression_tells_forms_of_one_compressor_apart():
    some = made(rows(eta=(0.1,), compressor=("top_k",), **{"compressor.fraction": (0.1, 0.01)}))
    texts = [text.get_text() for text in draw("compression", some).figure.legends[0].texts]
    assert texts[:2] == ["choco, top_k, fraction 0.01", "choco, top_k, fraction 0.1"]


def test_loss_takes_the_best_of_the_stepsizes_that_were_run_at_most_p():
    """At 0.2 methods end best, at 0.3 they were run with less loss alone."""
    ends = {0.1: 0.5, 0.2: 0.1, 0.3: 0.01}
    each = [
        {**row, "eta": eta, "end": ends[eta] + row["links.p"]}
        for row in lossy()
        for eta in ends
        if row["eta"] == 0.1 and (eta < 0.3 or row["links.p"] < 0.3)
    ]
    picture = draw("packet_loss", made(each))
    assert [text.get_text() for text in picture.figure.legends[0].texts][:2] == ["D-SGT, η = 0.2", "sgp, η = 0.2"]
    assert picture.data["mean"].min() == pytest.approx(0.1)
    assert mentions(" ".join(picture.notes), "sgp η=0.2", "final test loss")
    by = draw("packet_loss", made([{**row, "consensus": 1.0} for row in each]), tune_by="grad_norm")
    assert any("final grad norm" in note for note in by.notes)


def test_what_is_compared_is_named_and_else_what_settings_are_chosen_by():
    each = [{**row, "algo": algo, "end": row["end"] + add} for row in rows() for algo, add in GOOD.items()]
    some = made(each)
    make = table_makers()["final"].make
    table = make(some, FigureOptions(tune_by="consensus"))
    (gap,) = table.data["reference_minus"].dropna()
    assert abs(gap) == pytest.approx(0.5)  # training losses are all 1
    assert list(table.shown)[-1] == "D-SGT minus this, consensus"
    assert list(make(some, FigureOptions()).shown)[-1] == "D-SGT minus this"
    for request in (
        FigureOptions(metrics=("train_loss",)),
        FigureOptions(metrics=("train_loss", "consensus"), tune_by="consensus"),
    ):
        shown = make(some, request)
        assert list(shown.shown)[-1].endswith(", training loss")
        assert set(shown.data["reference_minus"].dropna()) == {0.0}


@pytest.mark.parametrize("label", ["topology.weights", "links", "compressor"])
def test_a_plug_in_beside_a_shipped_part_is_no_other_version(label):
    each = [{"algo": "dsgt", label: name, "end": 1.0} for name in ("ours", "theirs")]
    assert mixed_sources(made(each, [{"fingerprint": name} for name in "ab"])) == []
    same = [{"algo": "dsgt", label: "ours", "seed": seed, "end": 1.0} for seed in (0, 1)]
    assert mixed_sources(made(same, [{"fingerprint": name} for name in "ab"])) == ["dsgt"]


def test_an_option_called_split_does_not_replace_the_partition_of_the_data():
    rows = [
        {"algo": algo, "partition": partition, "eta": 1.0, "end": end, "seed": seed, **option}
        for algo, options in {"dsgd": [{}], "mine": [{"split": 1.0}, {"split": 2.0}]}.items()
        for end, option in enumerate(options, 1)
        for partition in ("even", "by_label")
        for seed in (0, 1)
    ]
    results = made(rows)
    splits = uneven_splits(results)
    assert splits.keys() == {"even", "by_label"}
    kept, _ = one_setting(results, pd.concat(splits.values()))
    assert {*kept["algo"]} == {"dsgd", "mine"}
    assert {*kept["algo.split"].dropna()} == {1.0}
