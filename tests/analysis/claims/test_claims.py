"""Verdicts: the logic by hand, the evidence from small real sweeps, the document from the archive."""

import io
import re
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from analysis import check_claims
from analysis.claims.evidence import EVIDENCE, Case, case, exact, per_seed, untested
from analysis.claims.verdicts import Claim, Verdict, claims, judge, settled
from analysis.report.claims import case_rows, number
from analysis.results.errors import NoData
from analysis.study.statistics import Interval
from bench.terminal.console import Console
from tests.helpers.mentions import mentions

pytestmark = pytest.mark.xdist_group("figures")


def claim(**holds: float) -> Claim:
    return Claim("id", "It is so.", "nowhere", "apples", holds, "of the test", "made_up", expects=("a", "c"))


def wide(name: str, value: float, low: float, high: float) -> Case:
    return Case(name, Interval(value, low, high, 5), 5)


def verdict(monkeypatch, bound: Claim, cases: list[Case]) -> Verdict:
    monkeypatch.setitem(EVIDENCE, "made_up", lambda results: cases)
    return judge(bound, None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("bound", "cases", "sentence"),
    [
        ({"at_most": 1.0}, {"a": 1.0, "c": 0.5}, "holds"),
        ({"at_least": 1.0}, {"a": 1.0, "c": 3.5}, "holds"),
        ({"within": 0.3}, {"a": -0.3, "c": 0.3}, "holds"),
        ({"within": 0.3}, {"a": -0.4, "c": 0.4}, "does not hold"),
        ({"at_most": 1.0}, {"a": 2.0, "b": 0.5, "c": 3.0}, "holds in part: 1 of 3 cases"),
        ({"at_most": 1.0}, {"a": 2.0, "b": 0.5, "c": 0.3}, "holds in part: 2 of 3 cases"),
        ({"at_most": 1.0}, {"a": 0.0}, "holds; not tested here: c"),
        ({"at_most": 1.0}, {}, "not tested here"),
        ({"at_most": 1.0}, {"a": float("nan"), "c": 0.0}, "holds in part: 1 of 2 cases"),  # nonfinite
        ({"at_most": 1.0}, {"a": float("inf"), "c": float("inf")}, "does not hold"),
        ({"at_least": 1.0}, {"a": float("inf"), "c": 2.0}, "holds"),
        ({"at_most": 1.0}, {"a": 0.0, "c": None}, "holds; not tested here: c"),
    ],
)
def test_the_words_of_a_verdict(monkeypatch, bound, cases, sentence):
    made = [untested(k) if v is None else exact(k, v, 1) for k, v in cases.items()]
    assert verdict(monkeypatch, claim(**bound), made).sentence == sentence


def test_what_is_not_settled_decides_nothing(monkeypatch):
    a, c, open_a = wide("a", 0.5, 0.2, 0.9), wide("c", 3.0, 2.0, 4.0), wide("a", 0.5, 0.2, 1.1)
    for cases, sentence in (
        ([a, c], "holds in part: 1 of 2 cases"),
        ([open_a, c], "does not hold (1 of 2 cases not settled)"),
        ([open_a, replace(a, name="c")], "holds (1 of 2 cases not settled)"),
        ([open_a], "not settled; not tested here: c"),
        ([open_a, replace(open_a, name="b"), c], "not settled (2 of 3 cases, 1 breaks the bound)"),
        ([open_a, replace(open_a, name="b"), replace(a, name="c")], "not settled (2 of 3 cases, 1 keeps the bound)"),
        ([wide("a", 0.5, np.nan, np.nan), exact("c", 0.5, 1)], "holds (1 of 2 cases not settled)"),  # too few seeds
    ):
        assert verdict(monkeypatch, claim(at_most=1.0), cases).sentence == sentence
    against = verdict(monkeypatch, claim(at_most=1.0), [wide("a", 1.5, 0.9, 2.1), replace(open_a, name="c")])
    assert mentions(against.sentence, "not settled", "2 of 2", "1 of", "against")
    for value, word in ((0.0, "does not hold"), (-0.1, "holds")):  # exactly on the bound is not below it
        assert verdict(monkeypatch, claim(below=0.0), [wide("a", value, value, value)]).word == word
    assert verdict(monkeypatch, claim(above=1.0), [wide("a", 1.1, 0.9, 1.3)]).word == "not settled"
    band = claim(within=0.4)
    assert not settled(band, wide("a", 0.45, -0.6, 1.5))
    assert not settled(band, wide("a", 0.3, 0.1, 0.5))
    assert not settled(band, wide("a", -0.3, -0.5, -0.1))
    assert settled(band, wide("a", 1.0, 0.6, 1.5))
    assert settled(band, wide("a", 0.1, -0.3, 0.3))


def test_what_is_shown_beside_is_not_judged(monkeypatch):
    cases = {"of": [wide("a", 0.5, 0.2, 0.9)], "also": [wide("b", 3.0, 2.0, 4.0), wide("c", 1.0, 0.5, 1.5)]}
    monkeypatch.setitem(EVIDENCE, "made_up", lambda results, which: cases[which])
    found = judge(replace(claim(at_most=1.0), parameters={"which": "of"}, beside={"which": "also"}), None)  # type: ignore[arg-type]
    assert found.sentence == "holds; not tested here: c"
    assert [row[3] for row in case_rows(found)] == ["yes", "no; not judged", "not settled; not judged"]


def test_what_no_run_could_tell_is_said(monkeypatch):
    beyond = replace(claim(at_most=1.0), untestable="The axis is another.")
    assert verdict(monkeypatch, beyond, [exact("a", 0.0, 1)]).word == "not testable"


def test_an_interval_is_told_from_its_middle():
    for found, said in (
        ((1.0047, 1.002, 1.0075), "1.005 [1.002, 1.008]"),
        ((0.47, 0.41, 0.538), "0.47 [0.41, 0.538]"),
        ((0.0, 0.0, 0.0), "0 [0, 0]"),
        ((1.00001, 0.99772, 1.0024), "1 [0.9977, 1.002]"),
    ):
        assert number(wide("a", *found)) == said
    assert number(case("a", [0.0] * 5, 5)).startswith("0 [0, 0], ")


@pytest.mark.parametrize(
    "bound",
    [
        "{}",
        "{at_most: 1, at_least: 0}",
        "{about: 1}",
        "{at_most: abc}",
        "{at_most: .nan}",
        "{at_most: 1%s}" % ("0" * 400),
        "1",
    ],
)
def test_a_claim_has_one_bound(bound, tmp_path):
    file = tmp_path / "mine.yaml"
    entry = "{id: mine, claim: So., source: here, unit: m, evidence: spike_ratio, because: so, holds: %s}"
    file.write_text("- " + entry % bound)
    with pytest.raises(NoData, match=r"'holds' of mine .*at_most, at_least, within, below, above"):
        claims(file)


OPEN = "- {id: mine, claim: So., source: here, unit: m, evidence: spike_ratio, because: so, holds: {at_most: 1}"


@pytest.mark.parametrize(
    ("field", "got", "typed"),
    [
        ("expects: word", "'word'", 'expects: ["word"]'),
        ("also: extra", "'extra'", 'also: ["extra"]'),
        ("expects: [8, a]", "[8, 'a']", 'expects: ["8", "a"]'),
        ("expects:", "None", 'expects: ["TEXT"]'),
        ("also: {a: 1}", "{'a': 1}", 'also: ["TEXT"]'),
        ("note: 5", "5", 'note: "5"'),
        (r'note: "\e[8m"', "control characters", r"\x1b"),
        ("untestable: true", "True", 'untestable: "True"'),
        ("figure: [a]", "['a']", 'figure: "TEXT"'),
        ("experiment: 2026-01-01", "2026", 'experiment: "2026-01-01"'),
        ("with: word", "'word'", "with: {NAME: VALUE}"),
        ("with: {1: 2}", "{1: 2}", "with: {NAME: VALUE}"),
        ("beside: [a]", "['a']", "beside: {NAME: VALUE}"),
        ("kind: [paper]", "['paper']", 'kind: "TEXT"'),
    ],
)
def test_rejects_a_field_of_another_type(field, got, typed, tmp_path, capsys):
    (tmp_path / "mine.yaml").write_text(f"{OPEN}, {field}}}")
    assert check_claims.main(["--claims", str(tmp_path / "mine.yaml")]) == 2
    name = field.partition(":")[0]
    said = " ".join(capsys.readouterr().err.split())
    assert mentions(said, f"'{name}' of mine", got, typed)


ALIASES = "".join(f"x{k}: &x{k} [{', '.join([f'*x{k - 1}'] * 9)}], " for k in range(1, 12))
NESTED = f"- {{id: {{x0: &x0 a, {ALIASES}}}, claim: So., source: here}}"
"""An id with 9^11 parts."""


@pytest.mark.parametrize(
    ("text", "got"),
    [
        ("- {id: 8, claim: So., source: here}", "'id' of 8"),
        ("- {id: mine, claim: 1, source: here, untestable: so}", "'claim' of mine"),
        (f"{OPEN}}}\n{OPEN}}}", "'mine'"),
        (OPEN + ", expect: [a]}", "'expects'"),
        (OPEN + ", 5: a}", "field 5"),
        (OPEN.replace("spike_ratio", "[a]") + "}", "'evidence' of mine"),
        ("- word", "'word'"),
        ("{id: mine, claim: So., source: here}", "{'"),
        ("", "None"),
        ("- {id: mine, claim: 2026-13-01}", "mine.yaml"),
        (OPEN + ", holds: {at_most: 100}}", "'holds'"),
        ("[" * 5000, "mine.yaml"),
        (NESTED, "mine.yaml"),
        ("- {id: !!timestamp x}", "mine.yaml"),
    ],
)
def test_rejects_a_file_that_is_no_list_of_claims(text, got, tmp_path):
    (tmp_path / "mine.yaml").write_text(text)
    with pytest.raises(NoData, match=re.escape(got)):
        claims(tmp_path / "mine.yaml")


def test_accepts_claims_with_all_fields(tmp_path):
    lists = "expects: [a, b], also: [], with: {algo: x}, beside: null, note: null, figure: spike, kind: beyond"
    (tmp_path / "mine.yaml").write_text(f"{OPEN}, {lists}}}\n- {{id: two, claim: c, source: s, untestable: so}}")
    first, second = claims(tmp_path / "mine.yaml")
    assert (first.expects, first.also, first.parameters, first.note) == (("a", "b"), (), {"algo": "x"}, None)
    assert second.untestable == "so"


def test_a_terminal_gets_lines_that_fit_and_a_table(monkeypatch):
    long = "a9a, ring of 32 with a name that is longer than half of any line"
    found = verdict(monkeypatch, claim(at_most=1.0), [wide(long, -0.0172, -0.0865, 0.0521), exact("c [x]", 0.5, 3)])
    found = replace(found, claim=replace(found.claim, claim="It is so. " * 20))
    check_claims.show(found, Console(file=(out := io.StringIO()), width=80, force_terminal=True, color_system=None))
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert "|---" not in out.getvalue()
    assert "│ -0.0172 [-0.0865, 0.0521] │" in out.getvalue()
    assert "c [x]" in out.getvalue()
    assert all(word in out.getvalue() for word in long.split())


def test_bad_input(tmp_path, capsys):
    assert check_claims.main(["--results", str(tmp_path / "nowhere")]) == 2
    assert str(tmp_path / "nowhere") in capsys.readouterr().err
    with pytest.raises(SystemExit):
        check_claims.main(["--claim", "the_earth_is_flat"])
    assert re.findall(r"'(\w+)'", capsys.readouterr().err) == ["the_earth_is_flat"]
    with pytest.raises(SystemExit):
        check_claims.main(["--claim", "spike_lowr"])
    assert re.findall(r"'(\w+)'", capsys.readouterr().err) == ["spike_lowr", "spike_lower"]


@pytest.mark.parametrize(("wrong", "what"), [(None, "NoneType"), ([1.0], "list")])
def test_evidence_that_returns_no_cases_is_told_where_it_stands(monkeypatch, wrong, what):
    def made_up(results):
        return wrong

    monkeypatch.setitem(EVIDENCE, "made_up", made_up)
    line = made_up.__code__.co_firstlineno
    found = judge(claim(at_most=1.0), None)  # type: ignore[arg-type]
    assert found.word == "no verdict"
    assert found.trouble.startswith("TypeError: made_up ")
    assert what in found.trouble
    assert found.trouble.endswith(f"(test_claims.py, line {line})")


MINE = """
- {id: near, claim: Nobody goes far., source: here, evidence: change_with_units, with: {algo: dnasa, what: scale},
   unit: parts, holds: {at_most: 0}, because: so}
- {id: odd, claim: It works., source: here, evidence: failing, unit: parts, holds: {at_most: 0}, because: so}
"""


@pytest.mark.thorough
def test_claims_of_ones_own_are_called_so_and_one_that_fails_stops_no_other(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(EVIDENCE, "failing", lambda results: [][1])
    (tmp_path / "mine.yaml").write_text(MINE)
    words = ["--results", str(folder), "--claims", str(tmp_path / "mine.yaml")]
    assert check_claims.main([*words, "--figures", str(tmp_path)]) == 1
    assert not (folder / "REPRODUCTION.md").exists()  # that is for the paper's
    shutil.move(folder / "mine.md", tmp_path)
    said, page = capsys.readouterr().out, (tmp_path / "mine.md").read_text()
    assert mentions(said, "near: holds\n  Nobody goes far.\n", "at most 0, because so\n")
    assert re.search(r"IndexError: .*\(test_claims\.py", said)
    assert page.startswith("# Claims, checked\n")
    assert "mine.yaml" in page
    assert "paper" not in page.partition("## Runs")[0]
    assert page.count("\n## ") - page.count("\n## Sensitivity") - page.count("\n## Final") <= 4
    pages = tmp_path / "pages"
    assert (
        check_claims.main(
            [*words, "--figures", str(tmp_path), "--out", str(tmp_path / "short.md"), "--pages", str(pages)]
        )
        == 1
    )
    short = (tmp_path / "short.md").read_text()
    assert re.search(r"^\| 1 \| \[Nobody goes far\.\]\(pages/near\.md\) \| \*\*holds\*\* \|$", short, re.MULTILINE)
    near = (pages / "near.md").read_text()
    assert near.startswith("# Nobody goes far.\n\n[All verdicts](../short.md)")
    assert near.count("check_claims.py") == 1  # the command names the results already
    (tmp_path / "mine.yaml").write_text("- {id: x}")
    assert check_claims.main(words) == 2
    assert "x lacks claim and source" in capsys.readouterr().err


def test_a_seed_with_a_diverged_run_has_no_value():
    states = ["done", "done", "done", "nonfinite", "diverging", "done", "done", "done"]
    traveled = [1.0, 3.0, 1.0, None, 5.0, 4.0, None, None]
    runs = pd.DataFrame({"seed": [0, 0, 1, 1, 2, 3, 3, 4], "state": states, "traveled": traveled})
    found = per_seed(runs, "traveled")  # the last two runs did not measure it
    assert found.index.tolist() == [0, 1, 2, 3]
    np.testing.assert_array_equal(found, [2.0, np.nan, np.nan, 4.0])
    assert np.isnan(case("mine", found, len(runs)).found.value)
