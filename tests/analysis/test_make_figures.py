"""The command, as it is typed."""

import json
import os
import re
import signal
import sys
from pathlib import Path
from subprocess import PIPE, CompletedProcess, Popen

import pytest

from analysis import make_figures
from analysis.report.bibtex import HEAD
from analysis.results.plugins import broken
from bench.store.files import write_json
from tests.helpers import sweeps
from tests.helpers.cli import fresh
from tests.helpers.mentions import mentions

pytestmark = pytest.mark.xdist_group("figures")


@pytest.fixture
def command(capsys, monkeypatch):
    """main() on these words, from a folder."""

    def call(*words, cwd):
        monkeypatch.chdir(cwd)
        try:
            code = make_figures.main(words)
        except SystemExit as stop:
            code = stop.code
        said = capsys.readouterr()
        return CompletedProcess(words, code, said.out, said.err)

    return call


@pytest.mark.thorough
def test_everything_there_is_data_for(command, folder, tmp_path):
    done = command("--results", str(folder), "--out", str(tmp_path / "out"), "--format", "svg", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^stepsize +21 runs \(15 done, 6 \w+\), seeds 0–2 → stepsize.svg$", done.stdout, re.M)
    assert re.search(r"^robustness +\d+ rows", done.stdout, re.M)
    made = {path.name for path in (tmp_path / "out").iterdir()}
    for name in (
        "stepsize",
        "topology",
        "speedup",
        "spike",
        "curves",
        "graphs",
        "consensus",
        "scale",
        "profile",
        "compare",
    ):
        assert {f"{name}.svg", f"{name}.csv", f"{name}.tex"} <= made
    for name in ("methods", "final", "robustness", "variants", "configurations"):
        assert {f"table_{name}.{kind}" for kind in ("md", "tex", "csv")} <= made


def test_one_figure_from_some_runs_and_what_would_make_the_missing(command, folder, tmp_path):
    words = (
        "--figure",
        "stepsize",
        "--figure",
        "speedup",
        "--where",
        "dataset=digits",
        "topology=ring",
        "--format",
        "png",
    )
    done = command(*words, "--results", str(folder), "--out", "here", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    made = sorted(path.name for path in (tmp_path / "here").iterdir())
    assert made == ["references.bib", "stepsize.csv", "stepsize.png", "stepsize.tex"]
    assert "python bench/run.py experiment=paper/speedup" in done.stdout


def test_keeps_references_of_others(command, folder, tmp_path):
    words = ("--figure", "stepsize", "--format", "svg", "--results", str(folder), "--out", "paper")
    file = tmp_path / "paper" / "references.bib"
    for content, code in ((None, 0), (HEAD, 0), ("", 0), ("@book{mine,}\n", 2)):
        file.parent.mkdir(exist_ok=True)
        if content is not None:
            file.write_text(content)
        done = command(*words, cwd=tmp_path)
        assert (done.returncode, file.read_text().startswith(HEAD)) == (code, code == 0), done.stderr
    assert file.read_text() == "@book{mine,}\n"
    assert mentions(done.stderr, "paper/references.bib", "--out")


@pytest.mark.parametrize(
    ("words", "values"),
    [
        (("--results", "nowhere"), ["'nowhere'"]),
        (("--results", "."), ["runs"]),
        (("--figure", "stepsise"), ["'stepsise'", "'stepsize'"]),
        (("--figure", "accuracy"), ["'accuracy'", "stepsize, "]),
        (("--format", "gif"), ["'gif'", "pdf, "]),
        (("--where", "algo"), ["--where", "'algo'"]),
        (("--without", "core"), ["--without", "'core'"]),
    ],
)
def test_rejects_invalid_options(command, words, values, tmp_path):
    done = command(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert all(value in done.stderr for value in values)
    assert "Traceback" not in done.stderr


def test_an_unknown_figure_names_the_broken_plugin(command, tmp_path, monkeypatch):
    monkeypatch.setitem(broken, "gone", "ModuleNotFoundError: gone")
    error = command("--figure", "mine", cwd=tmp_path).stderr
    assert "'mine'" in error
    assert "'gone'" in error
    assert error.endswith("ModuleNotFoundError: gone\n")


def test_rejects_an_empty_folder_and_unknown_names(command, folder, tmp_path):
    (tmp_path / "results" / "runs").mkdir(parents=True)
    assert command(cwd=tmp_path).returncode == 2
    for words, values in UNKNOWN.items():
        done = command("--results", str(folder), *words.split(), "--out", "x", cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert all(value in done.stderr for value in values)


UNKNOWN = {
    "--reference dstg": ["'dstg'", "'dsgt'", "dnasa, "],
    "--reference D-SGT": ["'D-SGT'", "'dsgt'", "dnasa, "],
    "--reference adam": ["'adam'", "dnasa, "],
    "--metric train_los": ["'train_los'", "'train_loss'", " train_loss, "],
    "--where color=red": ["'color'"],
    "--where algorithm=dsgt": ["'algorithm'"],
    "--where topolgy=ring": ["'topolgy'", "'topology'"],
}


@pytest.mark.thorough
def test_reports_skipped_runs(command, folder, tmp_path):
    """A run that failed, one still running, one unreadable, and one made by another version of the source."""
    folder = sweeps.copied(folder, tmp_path / "results", "untuned")
    runs = sorted((folder / "runs").iterdir())
    for run, state in zip(runs, ("failed", "running"), strict=False):
        summary = json.loads((run / "summary.json").read_text())
        write_json(run / "summary.json", {**summary, "state": state})
    (runs[2] / "summary.json").write_text("{")
    manifest = json.loads((runs[3] / "manifest.json").read_text())
    brief = {name: part for name, part in manifest.items() if name != "sources"}  # as earlier versions wrote it
    write_json(runs[3] / "manifest.json", {**brief, "fingerprint": "another"})
    manifest = json.loads((runs[4] / "manifest.json").read_text())
    write_json(runs[4] / "manifest.json", {**manifest, "sources": {**manifest["sources"], "core": "another"}})
    done = command("--figure", "compare", cwd=tmp_path)
    assert done.returncode == 0
    assert f"1 unreadable run: {runs[2].name}" in done.stdout
    assert "1 failed run" in done.stdout
    assert "1 running run" in done.stdout
    assert "Runs of dnasa" in done.stdout
    assert re.search(r"\bcore .*\banother \(1 run ", done.stdout)


@pytest.mark.thorough
def test_tables_count_diverged_runs_and_pair_seeds(command, folder, tmp_path):
    command(
        "--figure",
        "final",
        "--figure",
        "robustness",
        "--figure",
        "methods",
        "--results",
        str(folder),
        "--out",
        "x",
        cwd=tmp_path,
    )
    robustness = (tmp_path / "x" / "table_robustness.md").read_text()
    assert "| digits | ring | 8 | 40 | — | D-SGD | η = 0.1 |" in robustness
    methods = (tmp_path / "x" / "table_methods.md").read_text()
    assert "| D-SGD | bounded heterogeneity | needed | needed | — | — | 1 |" in methods
    assert "| D-NASA | — | — | — | — | — | 3 |" in methods
    assert mentions(methods, "n (nodes)", "T (steps)")
    tex = (tmp_path / "x" / "table_robustness.tex").read_text()
    assert r"\toprule" in tex
    assert r"& $\eta$ = 0.1" in tex
    header, *lines = (tmp_path / "x" / "table_final.csv").read_text().splitlines()
    assert {"algo", "test_accuracy", "runs", "nonfinite", "reference", "reference_minus_low"} <= set(header.split(","))
    assert len(lines) > 4


@pytest.mark.thorough
def test_the_script_needs_neither_torch_nor_mpi(tmp_path):
    code = "import sys, analysis.make_figures; print({'torch', 'mpi4py', 'hydra'} & set(sys.modules))"
    (tmp_path / "look.py").write_text(code)
    assert (
        fresh(tmp_path / "look.py", cwd=tmp_path, PYTHONPATH=str(Path(make_figures.__file__).parents[1])).stdout
        == "set()\n"
    )


@pytest.mark.thorough
def test_interrupted_it_says_so(folder, tmp_path):
    """Ctrl-C while the processes draw: one sentence, no traceback of any of them."""
    some = ["--figure", "graphs,compare", "--format", "png"]
    words = [sys.executable, make_figures.__file__, "--results", str(folder), "--out", str(tmp_path / "out"), *some]
    drawing = Popen(words, stdout=PIPE, stderr=PIPE, text=True, start_new_session=True)
    assert drawing.stdout.readline()
    os.killpg(drawing.pid, signal.SIGINT)
    _, errors = drawing.communicate(timeout=60)
    assert drawing.returncode == 130
    assert errors == "Interrupted.\n"


@pytest.mark.thorough
def test_a_reader_that_leaves_is_no_trouble(folder, tmp_path):
    line = f"{sys.executable} {make_figures.__file__} --results {folder} --out {tmp_path / 'a' / 'b'} --format png"
    pipe = Popen(["bash", "-c", f"{line} --figure graphs,stepsize | head -1"], stdout=PIPE, stderr=PIPE)
    _, errors = pipe.communicate(timeout=100)
    assert (pipe.returncode, errors) == (0, b"")
    assert (tmp_path / "a" / "b" / "stepsize.png").exists()
