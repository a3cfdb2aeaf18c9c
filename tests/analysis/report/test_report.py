"""The page: what is on it, in a real browser."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from matplotlib.figure import Figure

from analysis import make_report
from analysis.drawing.panels import Picture
from analysis.figures import drawings, figure
from analysis.report.page import FIRST, choices, embed, natural_order, with_indices
from analysis.report.report_data import gather_report, run_table, settings
from bench.store.files import stream_of, write_json
from bench.terminal.visible import CONTROL
from tests.helpers import sweeps
from tests.helpers.browser import find, look
from tests.helpers.invented import made
from tests.helpers.mentions import mentions

pytestmark = pytest.mark.xdist_group("figures")
CONTROLS = "\x1b]0;title\x07\x1b[201~\x15\u202e"
NASTY = "<script>window.hacked = 1</script><img src=x onerror=window.hacked=1>&\"'"


@pytest.fixture
def report(capsys):
    def call(*words):
        code = make_report.main([str(word) for word in words])
        said = capsys.readouterr()
        return CompletedProcess(words, code, said.out, said.err)

    return call


@pytest.fixture(scope="module")
def folder(folder, tmp_path_factory) -> Path:
    """A sweep with a failed run, a diverged one, and names that are no good."""
    folder = sweeps.copied(folder, tmp_path_factory.mktemp("page"), "few", "untuned")
    done = [
        run
        for run in sorted((folder / "runs").iterdir())
        if json.loads((run / "summary.json").read_text())["state"] == "done"
    ]
    summary = json.loads((done[0] / "summary.json").read_text())
    write_json(done[0] / "summary.json", {**summary, "partition": NASTY, "state": "failed"})
    write_json(done[0] / "status.json", {"state": "failed", "step": 10, "error": f"Rank 1 said {NASTY}"})
    with (done[0] / "log.txt").open("a") as log:
        log.write(NASTY + CONTROLS)
    return folder


@pytest.fixture(scope="module")
def page(folder) -> Path:
    assert make_report.main(["--results", str(folder), "--out", str(folder / "report.html")]) == 0
    return folder / "report.html"


def test_the_page_says_what_came_out_when_and_how(page):
    text = page.read_text()
    headline = re.sub(r"<.*?>", "", re.search(r"<h1>(.*)</h1>", text).group(1))
    assert headline.startswith("D-NASA ")
    assert mentions(headline, "highest test accuracy", "2 of 2")
    assert re.search(r'<p class="outcome">D-NASA .* digits, \w+: [\d.]+ % \(\d seeds, ', text)
    assert "<dt>Ended</dt><dd>20" in text
    assert re.search(r" 20[\d-]+ [\d:]+ UTC .*hearsay [\d.]+ ", text)
    columns = re.findall(r'class="sort">(.*?)<', re.search(r'id="table-runs".*?</thead>', text, re.DOTALL).group(0))
    assert columns[:6] == ["run_id", "state", "algo", "η", "topology", "seed"]  # what varies, then what came out
    assert columns[6] == "test_accuracy"
    assert columns[-2:] == ["partition", "step"]


def test_replaces_only_a_report(report, page, folder, tmp_path):
    run = next((folder / "runs").iterdir()) / "summary.json"
    for out in (run, tmp_path):
        before = run.read_bytes()
        done = report("--results", folder, "--out", out)
        assert (done.returncode, run.read_bytes()) == (2, before)
        assert mentions(done.stderr, str(out), "--out")
    assert page.read_text().startswith(FIRST + "\n")
    assert report("--results", folder, "--out", page).returncode == 0


def test_the_footer_names_no_place_of_this_machine(page):
    footer = re.search(r"<footer>.*</footer>", page.read_text(), re.DOTALL).group(0)
    assert f"from {page.parent.name} with" in footer
    assert f"python analysis/make_report.py --results {page.parent.name} --out report.html" in footer
    assert str(page.parent) not in footer


def test_the_settings_of_a_sweep_are_among_the_facts():
    lossy = {"links": "lossy", "links.p": 0.1}
    some = [
        {"algo": "dsgd", "eta": 0.1, "end": 1.0, "partition": "dirichlet", "partition.alpha": alpha, "model": "mlp"}
        | {"partition.equal": True, "model.hidden": 64, "batch_size": size, "sampling": "replacement", **lossy}
        for alpha, size in ((0.5, 32), (0.1, 128))
    ]
    results = made(some)
    told = dict(settings(replace(results, runs=results.runs.assign(validation=0.2))))
    assert told["Partition"] == "dirichlet (α 0.1, equal shards) and dirichlet (α 0.5, equal shards)"
    assert told["Batch size"] == "32 and 128"
    assert told["Model"] == "mlp (hidden 64)"
    assert told["Validation"].startswith("20 % ")
    assert told["Links"] == "lossy (p 0.1)"
    assert "Sampling" not in told  # as usual
    assert dict(settings(replace(results, runs=results.runs.assign(validation=0.0))))["Validation"] == "none"


def test_runs_and_filters_are_in_the_order_of_their_numbers():
    some = [
        {"algo": "dsgd", "eta": eta, "seed": seed, "end": 1.0, "schedule": "constant", "nodes": nodes}
        for seed in (10, 0, 2, 1)
        for eta in (0.1, 1e-5)
        for nodes in (16, 8)
    ]
    table, varied = run_table(made(some))
    assert table["seed"].tolist() == [0, 1, 2, 10] * 4
    assert table["eta"].tolist() == [1e-5] * 8 + [0.1] * 8
    assert varied == ["eta", "seed", "nodes"]
    assert [choices(table[name]) for name in varied] == [["1e-05", "0.1"], ["0", "1", "2", "10"], ["8", "16"]]
    assert sorted(["dsgd-s10-a", "dsgd-s2-b"], key=natural_order) == ["dsgd-s2-b", "dsgd-s10-a"]


@pytest.mark.thorough
def test_a_caption_names_what_is_drawn(tmp_path):
    """A stream has no accuracies; and here a metric is asked for."""
    words = ["--results", str(sweeps.make(tmp_path, "stream")), "--out", str(tmp_path / "new" / "page.html")]
    assert make_report.main([*words, "--metric", "train_los"]) == 2
    assert make_report.main([*words, "--metric", "train_loss"]) == 0
    text = (tmp_path / "new" / "page.html").read_text()
    captions = " ".join(re.findall("<strong>(.*?)</strong>", text))
    assert "training loss" in captions
    assert "test accuracy" not in captions


def test_a_figure_that_cannot_be_rendered_is_named_and_the_rest_is_made(monkeypatch):
    rest = drawings()["stepsize"]
    monkeypatch.setattr("analysis.figures.FIGURES", {"stepsize": rest})

    @figure("unreadable", "Unreadable", "nothing")
    def unreadable(results, request):
        broken = Figure()
        broken.text(0, 0, r"$\frac{$")  # fails when it is rendered
        return Picture(broken, results.runs, set())

    report = gather_report(made([{"algo": "dsgd", "eta": eta, "end": 1.0} for eta in (0.1, 1.0)]))
    assert "unreadable not drawn" in [sentence.partition(":")[0] for sentence in report.troubles]
    assert [drawing.name for drawing, *_ in report.figures] == ["stepsize"]


def test_nothing_in_a_run_becomes_markup(page):
    text = page.read_text()
    assert NASTY not in text
    assert "<script>window" not in text
    assert "<img" not in text
    assert "&lt;script&gt;window" in text
    assert "http://" not in text.replace("http://www.w3.org/", "")
    assert "https://" not in text


def test_captions_have_indices_and_powers():
    assert with_indices("b_(t+1) < b_t², 2^-12") == "b<sub>t+1</sub> &lt; b<sub>t</sub>², 2<sup>-12</sup>"
    assert with_indices("grad_norm <b>_1</b>") == "grad_norm &lt;b&gt;_1&lt;/b&gt;"


def test_what_is_embedded_can_not_end_its_script():
    assert embed({"a": "</script>&<!--"}) == '{"a":"\\u003c/script\\u003e\\u0026\\u003c!--"}'
    assert json.loads(embed({"a": "</script>&<!--"})) == {"a": "</script>&<!--"}


def test_what_a_script_reads_has_no_control_characters():
    (name, (text, number)) = json.loads(embed({f"a{CONTROLS}": (f"b\n{CONTROLS}", 1)})).popitem()
    assert not CONTROL.search(name + text)
    assert (name[0], text[:2], number) == ("a", "b\n", 1)


COLORS = """const value = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const names = ["--paper", "--ink", "--soft", "--link", "--good", "--bad", "--odd"];
const colors = Object.fromEntries(names.map((name) => [name, value(name)]));
"""
FIT = """const width = document.documentElement.scrollWidth, button = document.querySelector(".fit:not([hidden])");
const wide = button.nextElementSibling, before = wide.scrollWidth - wide.clientWidth;
button.click();
return { colors, width, before, after: wide.scrollWidth - wide.clientWidth };
"""


@pytest.mark.skipif(find() is None, reason="no Chromium or Chrome is installed here")
def test_the_page_in_a_browser(page, tmp_path):
    """Sorting, filters, pictures, run details, links to a run; no complaint, no request, no harm."""
    seen, complaints = look(page, Path(__file__).with_name("look.js").read_text(), tmp_path / "light")
    assert "Ended" in [name for name, _ in seen["facts"]]
    assert all(height < 36 for _, height in seen["facts"])  # one line each
    assert seen["runs"] == 18
    for accuracies, descending in zip(seen["sorted"], (False, True), strict=True):
        numbers = [float(text) for text in accuracies if text != "–"]
        assert numbers == sorted(numbers, reverse=descending)
        assert accuracies[-1] == "–"  # diverged runs have none, and come last
    assert seen["aria_sort"] == "descending"
    assert seen["choices"] == ["state", "algo", "η", "topology", "seed", "partition"]
    assert set(seen["etas"]) == {"0.1"}
    assert set(seen["states"]) == {"nonfinite"}
    assert seen["algos"] == ["dnasa"] * 3
    assert "3 of 18" in seen["shown"]
    assert len(seen["widths"]) >= 4
    assert min(seen["widths"]) > 200
    assert all(seen["labels"])
    assert set(seen["clickable"]) == {"BUTTON"}  # reached and pressed from the keyboard
    assert seen["failed"]["open"]
    assert "<script>window.hacked" in seen["failed"]["state"]
    assert "<img src=x" in seen["failed"]["log"]
    assert "title" in seen["failed"]["log"]
    assert not CONTROL.search(seen["failed"]["log"])
    assert "name: digits" in seen["failed"]["config"]
    assert seen["curves"] == 4
    assert "test_accuracy" in seen["words"]
    assert seen["words"].count("step 40") == 4  # every axis says how far it goes
    assert (seen["hash"], seen["hash_closed"], seen["open_by_hash"]) == (f"#run={seen['title']}", "", True)
    assert seen["percent"] == "#run=n%2541%25zz"
    assert (seen["percent_closed"], seen["percent_again"]) == ("", [True, "n%41%zz"])
    logarithmic = [True, False, False, False, True]  # over less than a decade, in percent, with a zero: linear
    assert [log for _, log, _ in seen["sparks"]] == logarithmic
    assert [line.count("L") for *_, line in seen["sparks"]] == [2, 2, 2, 2, 1]  # the nodes start in consensus
    assert seen["before"] != seen["after"]  # the button of the theme
    assert seen["hacked"] is None
    assert seen["requests"] == []
    assert complaints == []


@pytest.mark.skipif(find() is None, reason="no Chromium or Chrome is installed here")
def test_the_page_can_be_read_in_the_dark_and_on_a_phone(page, tmp_path):
    dark, _ = look(page, f"{COLORS} return colors;", tmp_path / "dark", dark=True)
    phone, _ = look(page, f"{COLORS} {FIT}", tmp_path / "phone", width=390)
    assert dark["--paper"] != phone["colors"]["--paper"]
    for colors in (dark, phone["colors"]):
        for name in colors.keys() - {"--paper"}:
            assert contrast(colors[name], colors["--paper"]) >= 4.5, name
    assert phone["width"] <= 390  # nothing but the sheets scrolls sideways
    assert phone["before"] > 1 >= phone["after"]


def contrast(one: str, other: str) -> float:
    """Between two colors, #rrggbb each, as WCAG counts it."""

    def luminance(text: str) -> float:
        parts = [int(text[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_only_failed_runs_no_runs_and_nothing(report, folder, tmp_path):
    only = tmp_path / "only"
    (only / "runs").mkdir(parents=True)
    done = report("--results", only)
    assert done.returncode == 2
    assert "nothing to report" in done.stderr
    for run in (folder / "runs").iterdir():
        if json.loads((run / "summary.json").read_text())["state"] == "failed":
            shutil.copytree(run, only / "runs" / run.name)
    done = report("--results", only)
    assert done.returncode == 0, done.stderr
    text = (only / "report.html").read_text()
    assert "Rank 1 said" in text
    assert '<details class="missing">' in text
    assert report("--results", tmp_path / "nowhere").returncode == 2


@pytest.mark.thorough
def test_a_folder_that_is_being_written_to(report, folder, tmp_path):
    """Runs whose files come, change and go while they are read."""
    busy = tmp_path / "busy"
    shutil.copytree(folder, busy)
    runs = sorted((busy / "runs").iterdir())
    (runs[0] / "metrics.parquet").unlink(missing_ok=True)
    (runs[1] / "summary.json").write_text('{"run_id"')
    summary = json.loads((runs[2] / "summary.json").read_text())
    write_json(runs[2] / "summary.json", {**summary, "state": "running"})
    stream = stream_of([{"step": 0, "test_loss": 1.0}], runs[2].name)[0]
    (runs[2] / "metrics.jsonl").write_text(stream + '{"step": 1, "te')
    for name in ("log.txt", "status.json", "config.yaml", "manifest.json"):
        (runs[3] / name).unlink()
    (busy / "runs" / "begun-just-now").mkdir()
    done = report("--results", busy)
    assert done.returncode == 0, done.stderr
    assert "unreadable run" in (busy / "report.html").read_text()
