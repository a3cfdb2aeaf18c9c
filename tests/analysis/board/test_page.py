"""The files and the page of a hand-made board."""

import json
import re
from dataclasses import replace

import pandas as pd
import pytest
import yaml

from analysis import make_board
from analysis.board.markdown import hidden_markdown, side_markdown, standings_markdown
from analysis.board.page import page
from analysis.board.study import Study
from analysis.results.errors import NoData
from bench.base.errors import UserError
from bench.terminal.visible import CONTROL
from tests.analysis.board.made import SAID, grid, results
from tests.helpers import browser

DSGD = {0.1: 0.7, 1.0: 1.0, 10.0: 0.5}


@pytest.fixture
def study(tmp_path):
    """A board with frozen targets and settings; D-Adam has a native setting."""
    entrants = {**SAID["entrants"], "dadam": {"stepsize": "eta", "native": {"algo.eta": 1, "algo.schedule": "fixed"}}}
    (tmp_path / "board.yaml").write_text(yaml.safe_dump({**SAID, "entrants": entrants, "ranked": ["dsgd", "dadam"]}))
    everywhere = ("D1", "T1", "T2", "V1")
    found = results(
        *grid("dsgd", DSGD, everywhere, spread=0.01),
        *grid("dsgt", {0.1: 2.0, 1.0: 0.3}, everywhere, spread=0.01),
        *grid("dadam", {0.1: 0.4, 1.0: 1.4}, everywhere, spread=0.01),
        provenance={"dsgt": "reconstructed"},
    )
    made = Study(found, tmp_path, tmp_path)
    for part in ("targets", "choose"):
        for name, text in made.files(part).items():
            (tmp_path / name).write_text(text)
    return Study(found, tmp_path, tmp_path)


def data_of(text):
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])


def test_all_rulesets_are_chosen(study):
    chosen = study.chosen
    assert set(chosen["ruleset"]) == {"tuned", "dev", "native"}
    native = chosen[chosen["ruleset"] == "native"].iloc[0]
    assert (native["method"], native["workload"], native["algo.eta"]) == ("dadam", "all", 1.0)


def test_the_tables(study, tmp_path):
    files = study.files("score")
    tables = ("scores", "standings", "pairs", "tries", "margins", "sensitivity", "reached")
    assert {*(f"{name}.csv" for name in tables), "board.md"} == set(files)
    (tmp_path / "standings.csv").write_text(files["standings.csv"])
    table = pd.read_csv(tmp_path / "standings.csv")
    both = table[(table["price"] == "gradients") & (table["method"] == "dadam")].set_index("ruleset")["score"]
    assert both["native"] == pytest.approx(both["tuned"])
    assert study.board.hash in files["board.md"]
    assert "†" in files["board.md"]


def test_the_page_has_every_cell_with_its_command(study):
    text = page(study)
    assert study.board.hash in text
    found = data_of(text)
    assert {cell["ruleset"] for cell in found["cells"] if cell["method"] == "dadam"} == {"tuned", "dev", "native"}
    cell = next(one for one in found["cells"] if (one["method"], one["workload"]) == ("dadam", "T1"))
    assert {"algo=dadam", "algo.eta=1", "dataset=a9a", "seed=100,101,102,103,104"} <= set(cell["command"].split())
    assert len(cell["x"]) == len(cell["y"]) == 12
    assert (cell["y"][0], cell["y"][1]) == (1, 0.5)  # from the start, the first step halves the distance
    assert not found["methods"]["dsgt"]["ranked"]
    assert "http" not in re.sub(r"http://www\.w3\.org/2000/svg|http-equiv", "", text)


USE = """
const one = (id) => document.getElementById(id);
const names = () => [...document.querySelectorAll("#standings tbody tr")].map((row) => row.cells[1].textContent);
const pick = (id, value) => { one(id).value = value; one(id).dispatchEvent(new Event("change")); };
const first = [...one("standings").tHead.rows[0].cells].map((cell) => cell.textContent);
const seen = { first, glances: document.querySelectorAll("#standings td svg").length, all: names() };
seen.scores = document.querySelectorAll("#standings .cell").length;
pick("provenance", "reconstructed");
seen.reconstructed = names();
pick("provenance", "all");
pick("needs", "nothing");
seen.needy = names();
pick("needs", "all");
pick("family", one("family").options[1].value);
seen.family = names();
pick("family", "all");
pick("ruleset", "dev");
pick("price", "latency");
pick("stratum", "T");
seen.changed = [names().length, [...document.querySelectorAll("#standings .cell")].map((cell) => cell.textContent)];
for (const [id, value] of [["ruleset", "tuned"], ["price", "gradients"], ["stratum", "all"]]) pick(id, value);
document.querySelector("#standings .cell").click();
seen.open = one("details").open;
seen.commands = document.querySelectorAll("#details pre").length;
seen.lines = document.querySelectorAll("#profile polyline").length;
return seen;
"""


@pytest.mark.thorough
@pytest.mark.skipif(browser.find() is None, reason="needs a browser")
def test_filters_and_cells_in_a_browser(study, tmp_path):
    (tmp_path / "board.html").write_text(page(study))
    seen, complaints = browser.look(tmp_path / "board.html", USE, tmp_path / "browser")
    assert complaints == []
    assert len(seen["all"]) == seen["glances"] == 3
    assert "price of not tuning" in seen["first"]
    assert len(seen["needy"]) == 3
    assert len(seen["family"]) == 1
    assert seen["changed"][0] == 3
    assert all(seen["changed"][1])
    assert seen["scores"] == 3 + 3 + 1  # tuned, development, native
    assert [name[-1] for name in seen["reconstructed"]] == ["†"]
    assert seen["open"]
    assert seen["commands"] == 3  # one per workload
    assert seen["lines"] == 2  # D-SGD and D-Adam


def test_a_submission_is_one_more_entrant(study, tmp_path):
    """It has the runs of D-Adam, and its choice is in its own folder."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "submission.yaml").write_text(yaml.safe_dump({"entrant": {"method": "dadam", "stepsize": "eta"}}))
    files = Study(study.results, tmp_path, tmp_path, "full", folder).files("choose")
    (folder / "chosen.csv").write_text(files["chosen.csv"])
    assert set(pd.read_csv(folder / "chosen.csv")["method"]) == {"mine"}
    both = Study(study.results, tmp_path, tmp_path, "full", folder).standings
    scores = both[(both["ruleset"] == "tuned") & (both["price"] == "gradients")].set_index("method")["score"]
    assert scores["mine"] == scores["dadam"]
    chosen = pd.read_csv(folder / "chosen.csv", dtype={"algo.eta": float})
    chosen.loc[chosen["workload"] == "T1", "algo.eta"] = 0.1  # as if it were chosen by the report seeds
    chosen.to_csv(folder / "chosen.csv", index=False)
    with pytest.raises(NoData, match=r"tuned T1 mine has .*0\.1"):
        _ = Study(study.results, tmp_path, tmp_path, "full", folder).standings
    with pytest.raises(NoData, match=r"submission\.yaml"):
        _ = Study(study.results, tmp_path, tmp_path, "full", tmp_path / "none").board


@pytest.mark.parametrize(
    ("kept", "lacks"),
    [((), "D1 lacks .*run tune"), (("D1", "T2"), "T1 lacks .*run tune"), (("D1", "T1", "T2"), "V1 lacks .*run dev")],
)
def test_the_choice_of_a_submission_needs_its_runs(study, tmp_path, kept, lacks):
    """The entrants of the board may lack a workload, but a submission takes part in all of them."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "submission.yaml").write_text(yaml.safe_dump({"entrant": {"method": "dsgdm", "stepsize": "eta"}}))
    own = [results(*grid("dsgdm", {0.1: 0.4, 1.0: 1.4}, kept))] if kept else []
    parts = [study.results, *own]
    tables = {name: pd.concat([getattr(one, name) for one in parts], ignore_index=True) for name in ("runs", "rows")}
    found = replace(study.results, **tables, facts={k: v for one in parts for k, v in one.facts.items()})
    with pytest.raises(NoData, match=f"{lacks} .*--submission mine"):
        Study(found, tmp_path, tmp_path, "full", folder).files("choose")


@pytest.mark.parametrize(("name", "more"), [("dsgd", {}), ("mine", {"set": {"topology": "complete"}})])
def test_a_submission_replaces_neither_an_entrant_nor_the_problem(study, tmp_path, name, more):
    folder = tmp_path / name
    folder.mkdir()
    said = {"entrant": {"method": "dadam", "stepsize": "eta", **more}}
    (folder / "submission.yaml").write_text(yaml.safe_dump(said))
    with pytest.raises(NoData, match=str(*more.get("set", [name]))):
        _ = Study(study.results, tmp_path, tmp_path, "full", folder).board


def test_missing_files_name_the_command(tmp_path):
    (tmp_path / "board.yaml").write_text(yaml.safe_dump(SAID))
    with pytest.raises(NoData, match="choose"):
        _ = Study(results(*grid("dsgd", DSGD)), tmp_path, tmp_path).chosen
    with pytest.raises(UserError, match=r"board\.yaml"):
        _ = Study(results(*grid("dsgd", DSGD)), tmp_path / "none", tmp_path).board


def test_the_command_writes_next_to_the_protocol_or_elsewhere(study, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(make_board, "read", lambda *_: study.results)
    before = (tmp_path / "chosen.csv").read_text()
    words = ["--board", str(tmp_path)]
    assert make_board.main(["choose", *words]) == 0
    assert (tmp_path / "chosen.csv").read_text() == before
    assert make_board.main(["score", *words, "--out", str(tmp_path / "tables")]) == 0
    assert (tmp_path / "tables" / "board.md").is_file()
    assert make_board.main(["page", *words]) == 0
    assert (tmp_path / "board.html").read_text() == page(study)
    (tmp_path / "results").symlink_to(tmp_path / "tables")  # a version of somebody else
    assert make_board.main(["score", *words]) == 2
    assert "link" in capsys.readouterr().err
    assert make_board.main(["score", "--board", str(tmp_path / "nowhere")]) == 2
    assert "nowhere" in capsys.readouterr().err


def test_the_archive_of_the_version_is_read_by_default(study, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(make_board, "read", lambda source, *_: asked.append(source) or study.results)
    (archive := tmp_path / "runs").mkdir()
    make_board.main(["choose", "--board", str(tmp_path)])
    make_board.main(["choose", "--board", str(tmp_path), "--results", "mine"])
    archive.rmdir()
    make_board.main(["choose", "--board", str(tmp_path)])
    assert asked == [str(archive), "mine", "results"]


def test_unreadable_runs_and_mixed_software_are_reported(study, tmp_path, monkeypatch, capsys):
    """In the output of the command, in the tables and on the page."""
    facts = {
        run: {**fact, "sources": {}, "versions": {"torch": str(k % 2)}}
        for k, (run, fact) in enumerate(study.results.facts.items())
    }
    found = replace(study.results, unreadable=["dsgd-lost"], reasons={"dsgd-lost": "damaged"}, facts=facts)
    monkeypatch.setattr(make_board, "read", lambda *_: found)
    for part in ("score", "page"):
        assert make_board.main([part, "--board", str(tmp_path)]) == 0
        printed = capsys.readouterr().out
        assert "dsgd-lost" in printed
        assert "torch" in printed
    for name in ("results/board.md", "board.html"):
        text = (tmp_path / name).read_text()
        assert "dsgd-lost" in text
        assert "torch" in text


def test_labels_are_escaped(study):
    for fact in study.results.facts.values():
        if fact["algorithm"]["name"] == "dsgt":
            fact["algorithm"]["label"] = "a|b <img onerror=x> \x1b[31m"
    text = Study(study.results, study.folder, study.home).files("score")["board.md"]
    assert "a\\|b &lt;img" in text
    assert "<img" not in text
    assert "\x1b" not in text


def test_what_the_script_of_the_page_reads_has_no_control_characters(study):
    for fact in study.results.facts.values():
        if fact["algorithm"]["name"] == "dsgt":
            fact["algorithm"]["label"] = "a </script> \x1b]0;x\x07 \u202e"
    text = page(Study(study.results, study.folder, study.home))
    assert "</script> " not in text
    assert "]0;x" in text
    assert not CONTROL.search(json.dumps(data_of(text), ensure_ascii=False))


def test_names_in_headings_are_escaped(study):
    """Those of the version, of a price and of a side table, which board.yaml has."""
    odd = "a\n# <img onerror=x>"
    table = study.standings[study.standings["price"] == "gradients"].assign(price=odd)
    text = standings_markdown(replace(study.board, number=odd), table, study.label)
    text += side_markdown(odd, table, study.label) + hidden_markdown([odd], study.hidden, study.label)
    assert text.count("a # &lt;img onerror=x>") == 1 + 3 + 2 * 3 + 1  # three rulesets
    assert "<img" not in text


def test_tables_have_no_formulas(study):
    table = study.standings.assign(method="=cmd|' /C calc'!A0")
    made = Study(study.results, study.folder, study.home)
    made.__dict__["gate"] = table
    text = made.files("gate")["gate.csv"]
    assert "'=cmd" in text


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"", b'a,"b\n1', b"ruleset,method\ntuned,dsgd\n"])
def test_a_broken_table_is_named(tmp_path, content):
    (tmp_path / "chosen.csv").write_bytes(content)
    with pytest.raises(NoData, match=r"chosen\.csv"):
        _ = Study(results(*grid("dsgd", DSGD)), tmp_path, tmp_path).chosen


@pytest.mark.parametrize(
    ("file", "rows", "shown"),
    [
        ("targets", "D1,least,2,1\n", "'least'"),
        ("targets", "D1,pooled,inf,1\n", "inf .*start"),
        ("targets", "D1,pooled,2,-inf\n", "-inf .*reference"),
        ("targets", "D1,pooled,2,2\n", "reference 2 of D1"),
        ("targets", "D1,pooled,2,1\nT1,minimum,2,1\nD1,minimum,2,1\n", "rows of D1"),
        ("targets", "D1,pooled,True,False\n", "start"),
        ("chosen", "tuend,D1,dsgd,1\n", "'tuend'"),
        ("chosen", "tuned,D1,dsgd,inf\n", "inf .*algo.eta"),
        ("chosen", "tuned,D1,dsgd,-inf\ntuned,D1,dsgt,auto\n", "-inf .*algo.eta"),
        ("chosen", "tuned,D1,dsgd,1\ndev,all,dsgd,1\ntuned,D1,dsgd,3\n", "rows of tuned D1 dsgd"),
    ],
)
def test_values_and_rows_that_no_command_writes_are_named(tmp_path, file, rows, shown):
    header = {"targets": "workload,rule,start,reference\n", "chosen": "ruleset,workload,method,algo.eta\n"}[file]
    (tmp_path / f"{file}.csv").write_text(header + rows)
    with pytest.raises(NoData, match=rf"{file}\.csv .*{shown}"):
        getattr(Study(results(*grid("dsgd", DSGD)), tmp_path, tmp_path), file)


def test_links_in_a_results_folder_are_not_followed(tmp_path):
    (tmp_path / "elsewhere.csv").write_text("ruleset,workload,method\n")
    (tmp_path / "chosen.csv").symlink_to(tmp_path / "elsewhere.csv")
    with pytest.raises(OSError, match="link"):
        _ = Study(results(*grid("dsgd", DSGD)), tmp_path, tmp_path, "quick").chosen
    assert Study(results(*grid("dsgd", DSGD)), tmp_path, tmp_path).chosen.empty


def test_the_quick_size_needs_a_folder(tmp_path, monkeypatch, capsys):
    """Its files are in the results folder, which a W&B project does not have."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(make_board, "read", lambda *_: pytest.fail("the project was read"))
    for part in make_board.PARTS:
        assert make_board.main([part, "--size", "quick", "--results", "wandb:E/P"]) == 2
        assert "wandb:E/P" in capsys.readouterr().err
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("part", ["targets", "gate"])
def test_results_without_a_run_of_the_board_are_named(study, part):
    other = replace(study.results, runs=study.results.runs.assign(dataset="mine"))
    with pytest.raises(NoData, match=r"bench/board\.py"):
        replace(study, results=other).files(part)
