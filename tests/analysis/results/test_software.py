"""Warnings about runs of different versions of the suite, of torch or of NumPy."""

import os
from argparse import ArgumentParser
from dataclasses import replace
from pathlib import Path

import pytest

from algorithms.dsgd import DSGD
from analysis import load, make_figures
from analysis.drawing.bands import Band
from analysis.figures import drawings
from analysis.report.caption import caption
from analysis.report.table_files import make_table
from analysis.results.archive import read_archive, write_archive
from analysis.results.errors import NoData
from analysis.results.read import add_source, condition, read
from analysis.results.warnings import mixed_note, mixed_sources, warnings
from analysis.study.figure_options import FigureOptions
from analysis.tables import table_makers
from bench.base.registry import algorithms, partitions
from bench.build import material
from bench.build.manifest import describe
from bench.store.software import TYPED, VERSIONS, mixed
from tests.helpers.configs import config, rows
from tests.helpers.invented import made
from tests.helpers.mentions import mentions
from tests.helpers.run_folders import claimed

OLD, NEW = "2026-01-02 03:04:05", "2026-05-06 07:08:09"


def fact(core="new", torch="2.13.0", started=NEW, **files):
    return {
        "fingerprint": f"{core}{torch}{files}",
        "sources": {"core": core, "bench/network/graphs.py": "g", **files},
        "versions": {"torch": torch, "numpy": "2.4.6", "python": "3.11.7"},
        "started": started,
    }


def results(*facts):
    """A run of D-SGD for all of these but the last, which is of D-NASA."""
    algos = ["dsgd"] * (len(facts) - 1) + ["dnasa"]
    runs = [{"algo": algo, "eta": 0.1, "seed": k, "end": 1.0} for k, algo in enumerate(algos)]
    return made(runs, list(facts))


def test_another_core_under_another_method_is_said_with_counts_dates_and_remedies():
    some = results(fact("old", started=OLD), fact("old", started="2026-01-01 00:00:00"), fact())
    (said,) = warnings(some)
    assert mentions(said, "core old (2 runs", "dsgd", "2026-01-02 03:04", "new (1 run", "dnasa", "2026-05-06 07:08")
    assert "--without core=old;" in said
    assert said.endswith("stale=rerun.")
    left = some.without([("core", ["old"])])
    assert list(left.runs["algo"]) == ["dnasa"]
    assert set(left.rows["run_id"]) == set(left.runs["run_id"])
    assert warnings(left) == []
    assert len(table_makers()["configurations"].make(left, FigureOptions()).data) == 1


@pytest.mark.parametrize(
    ("other", "named"),
    [
        (fact(torch="2.12.0", started=OLD), "torch 2.12.0 (1 run of dsgd, newest 2026-01-02 03:04), 2.13.0 (1 run"),
        (fact(**{"bench/network/graphs.py": "h"}), "bench/network/graphs.py g (1 run of dnasa"),
        (fact(core="older", torch="2.12.0", started=OLD), "; torch 2.12.0 (1 run"),
    ],
)
def test_what_differs_is_named(other, named):
    (said,) = warnings(results(other, fact()))
    assert named in said


def test_without_what_is_proposed_nothing_is_left_to_say():
    """Of several differences only those are proposed that the others do not explain."""
    some = results(fact("old", "2.12.0", OLD), fact("new", "2.12.0", OLD), fact("new", "2.13.0"), fact())
    (said,) = warnings(some)
    assert "--without core=old torch=2.12.0;" in said
    assert warnings(some.without([("core", ["old"]), ("torch", ["2.12.0"])])) == []
    assert "--without core=old;" in warnings(results(fact("old", "2.12.0", OLD), fact(), fact()))[0]


def test_only_a_library_is_made_again_by_force():
    assert warnings(results(fact(torch="2.12.0", started=OLD), fact()))[0].endswith("force=true.")


@pytest.mark.parametrize(
    "facts",
    [
        (fact(**{"algorithms/dsgd.py": "a"}), fact(**{"algorithms/dnasa.py": "b"})),
        (fact(), fact(started=OLD)),
        ({"fingerprint": "a", "versions": {"torch": "2.11.0"}}, {"fingerprint": "b", "versions": {"torch": "2.13.0"}}),
        ({}, {"sources": None}),
    ],
    ids=["other methods", "other days", "earlier versions", "nothing known"],
)
def test_no_false_alarm(facts):
    assert warnings(results(*facts)) == []


def test_runs_of_an_earlier_version_beside_later_ones_are_said_to_be_unknown():
    (said,) = warnings(results({"fingerprint": "a"}, fact()))
    assert said.startswith("1 run of ")
    assert "source files" in said


def test_runs_of_earlier_versions_are_compared_by_fingerprint_as_before():
    brief = {"fingerprint": "a"}
    assert mixed_sources(results(brief, {"fingerprint": "b"}, fact())) == ["dsgd"]
    assert mixed_sources(results(brief, fact(), fact())) == ["dsgd"]
    assert mixed_sources(results(fact("old"), fact(), fact())) == []  # which is said in another sentence
    assert len(results(brief, {"fingerprint": "b"}, fact()).without([("fingerprint", ["a"])]).runs) == 2


def test_runs_in_no_figure_are_not_compared():
    runs = [{"algo": "dsgd", "state": "failed", "end": 1.0}, {"algo": "dnasa", "end": 1.0}]
    assert not any("software" in said for said in warnings(made(runs, [fact("old"), fact()])))


def test_an_archive_keeps_it(tmp_path):
    some = results(fact("old", started=OLD), fact())
    write_archive(some, tmp_path)
    (said,) = warnings(read_archive(tmp_path))
    assert said == warnings(some)[0].replace(" 03:04", "").replace(" 07:08", "")


def test_of_runs_of_one_day_an_archive_does_not_say_which_are_older(tmp_path):
    some = results(fact("old", started=OLD), fact("old", started=OLD), fact(started=OLD.replace("03:04", "04:04")))
    assert "older" in warnings(some)[0]
    write_archive(some, tmp_path)
    (said,) = warnings(read_archive(tmp_path))
    assert "older" not in said
    assert "--without core=new;" in said


@pytest.mark.parametrize("name", ["plug/méthode.py", "my plug-ins/net.py", "x" * 300, "a\nb.py", "\ud800"])
def test_no_file_is_passed_over_for_its_name(name):
    some = results(fact(**{name: "a"}, started=OLD), fact(**{name: "b"}))
    (said,) = warnings(some)
    proposed = said.partition("--without ")[2].partition(";")[0]
    assert "\n" not in said
    assert len(said) < 1000
    assert list(some.without([condition(proposed)]).runs["algo"]) == ["dnasa"]


def test_different_versions_that_cannot_be_printed_differ():
    assert warnings(results(fact("a b", started=OLD), fact("a\nb")))


def test_who_loads_the_table_is_warned(tmp_path):
    write_archive(results(fact("old", started=OLD), fact()), tmp_path / "archive")
    with pytest.warns(UserWarning, match="core old .*, new "):
        load(tmp_path / "archive")
    for algo in ("dsgd", "dnasa"):
        with claimed(config(results=str(tmp_path), algo=algo, steps=40, eval_every=10)) as folder:
            folder.begin({**describe(folder.config), **fact("old" if algo == "dsgd" else "new")})
            for row in rows(folder.config)[0]:
                folder.record(row)
            folder.finish("done", 40)
    with pytest.warns(UserWarning, match="core new .*, old "):
        assert load(tmp_path)["run_id"].nunique() == 2


def test_odd_values_are_no_reason_to_stop():
    assert mixed([("dsgd", {"sources": {"core": ["?"]}, "versions": 3, "started": 5}), ("dnasa", fact())])
    with pytest.raises(NoData, match=r"core=none.*core=old, core=new"):
        results(fact("old"), fact()).without([("core", ["none"])])


def test_what_is_given_twice_counts_twice():
    parser = ArgumentParser()
    add_source(parser)
    given = parser.parse_args(["--without", "core=a", "--without", "torch=1,2", "numpy=3"])
    assert given.without == [("core", ["a"]), ("torch", ["1", "2"]), ("numpy", ["3"])]
    assert parser.parse_args([]).without == []
    given = make_figures.parse(["--where", "algo=dsgd", "--where", "seed=1,2"])
    assert given.where == [("algo", ["dsgd"]), ("seed", ["1", "2"])]


def test_nothing_is_made_where_no_run_is_left(tmp_path):
    write_archive(results(fact("old"), fact()), tmp_path)
    with pytest.raises(NoData, match=r"core=old,new .* 2 runs"):
        read(tmp_path, [("core", ["old", "new"])])


def test_files_that_go_into_a_paper_say_it_too(tmp_path):
    some = results(fact("old", started=OLD), fact())
    (note,) = mixed_note(some, some.runs)
    assert "core" in note
    assert mixed_note(some, some.runs[:1]) == []
    make_table(table_makers()["configurations"], some, FigureOptions(), tmp_path)
    assert all(note in (tmp_path / f"table_configurations.{kind}").read_text() for kind in ("md", "tex"))
    drawing = drawings()["compare"]
    picture = drawing.picture(some, FigureOptions())
    assert note in caption(drawing, picture, some, Band("range"))


def test_runs_on_other_data_of_the_same_name_are_not_compared_silently():
    first, second = (describe(config(dataset="digits"), None) for _ in range(2))
    (name,) = [name for name in first["sources"] if name.startswith("data/digits")]
    second["sources"][name] = "0123456789abcdef"
    (said,) = warnings(results(first, second))
    assert f"--without {name}=" in said
    assert not [name for name in describe(config(dataset="quadratics"), None)["sources"] if name.startswith("data/")]


@pytest.fixture
def members_with_files(monkeypatch):
    """A method and a partition with an option that names a file."""

    class Weighted(DSGD):
        weights: Path | None = None

    def listed(*args, list: Path | None = None, **options):
        return partitions["even"](*args, **options)

    for registry, name, member in ((algorithms, "weighted", Weighted), (partitions, "listed", listed)):
        monkeypatch.setitem(registry._items, name, member)


@pytest.mark.parametrize(
    ("kind", "group", "option", "contents", "more"),
    [
        ("data/file", "dataset", "path", ["x,y\n" + "1,0\n2,1\n" * 9, "x,y\n" + "1,1\n2,0\n" * 9], {"column": "y"}),
        ("graph/edges", "topology", "file", ["0 1\n1 2\n2 3\n", "0 1\n1 2\n2 3\n3 0\n"], {}),
        ("algo.weights/weighted", "algo", "weights", ["1\n", "2\n"], {}),
        ("partition.list/listed", "partition", "list", ["1\n", "2\n"], {}),
    ],
)
@pytest.mark.usefixtures("members_with_files")
def test_a_file_that_changed_between_two_runs_is_reported(tmp_path, kind, group, option, contents, more):
    file, made, labels = tmp_path / ("t.csv" if group == "dataset" else "t.txt"), [], []
    for number, content in enumerate(contents):
        file.write_text(content)
        os.utime(file, (number, number))
        material._load.cache_clear()  # another process reads the file again
        run = config(**{group: {"name": kind.rpartition("/")[2], option: str(file), **more}, "nodes": 4})
        made.append(describe(run))
        labels.append(run.labels())
    (name,) = {name for one in made for name in one["sources"] if name.startswith(kind)}
    (said,) = warnings(results(*made))
    assert f"--without {name}=" in said
    assert not [name for name in describe(config())["sources"] if name.startswith(("graph/", "algo.", "partition."))]
    assert {key for key in labels[0] if labels[0][key] != labels[1][key]} == {"run_id", f"{group}.{option}.content"}
    assert not [name for name in config().labels() if name.endswith(".content")]


def test_contents_of_older_runs_come_from_their_manifests():
    """Older runs of a graph from a file have no label of its content."""
    manifests = [{"sources": {"graph/edges-12": version}} for version in ("one", "one", "two", "two")]
    runs = results(*manifests, {})
    labels = ["one", None, "two", None, None]
    filled = replace(runs, runs=runs.runs.assign(**{"topology.file.content": labels}))
    assert filled.runs["topology.file.content"].fillna("").tolist() == ["one", "one", "two", "two", ""]


@pytest.mark.parametrize("typed", [True, False])
def test_limits_the_versions_in_sentences(typed):
    count = TYPED + 1 + (not typed)
    some = results(*(fact(f"c{number}", started=f"2026-01-02 03:04:{number}") for number in range(10, 10 + count)))
    (said,) = warnings(some)
    assert said.count("(1 run of") == VERSIONS
    assert f"c{9 + count} (1 run" in said
    assert f"{count - VERSIONS} more" in said
    assert ("c10,c11," in said) == typed
    with pytest.raises(NoData) as error:
        some.without([("core", ["other"])])
    assert str(error.value).count("core=c") == TYPED
