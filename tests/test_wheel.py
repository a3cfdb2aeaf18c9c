"""The wheel: complete, and as good as a checkout; and the suite beside Hugging Face's package of the same name."""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path, PurePath

import pytest
from setuptools.config.pyprojecttoml import read_configuration

from bench.build.fingerprint import fingerprint
from bench.config.compose import compose_one
from tests.helpers.cli import ROOT

PACKAGES = ("algorithms", "analysis", "bench", "benchmarks", "conf", "datasets", "hearsay", "reproduction")
WORDS = ("algo=dnasa", "steps=20", "tracker=none")

long = [pytest.mark.thorough, pytest.mark.timeout(600), pytest.mark.xdist_group("wheel")]
Done = subprocess.CompletedProcess[str]


def tracked(*places: str) -> list[str]:
    try:
        done = subprocess.run(["git", "ls-files", *places], cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"git does not know these files: {error}")
    names = [name for name in done.stdout.splitlines() if (ROOT / name).is_file()]
    return [name for name in names if not name.startswith(("docs/", "reproduction/archive/", "reproduction/verdicts/"))]


def test_every_file_of_the_suite_goes_into_the_wheel():
    """By what pyproject.toml says; whether setuptools does as it says is seen below."""
    said = read_configuration(ROOT / "pyproject.toml")["tool"]["setuptools"]
    patterns = said["package-data"][""]
    files = [PurePath(name) for name in tracked(*PACKAGES)]
    assert {".".join(file.parent.parts) for file in files} <= set(said["packages"])
    assert [file for file in files if file.suffix != ".py" and not any(map(file.match, patterns))] == []


def test_every_folder_of_the_repository_goes_into_the_source_archive():
    grafted = re.findall(r"^graft (\S+)$", (ROOT / "MANIFEST.in").read_text(encoding="utf-8"), re.MULTILINE)
    folders = {name.partition("/")[0] for name in tracked() if "/" in name}
    assert folders - {*PACKAGES, *grafted} == set()


def test_an_editable_install_is_found_beside_a_clone_named_hearsay(tmp_path):
    """Python otherwise takes the folder of the clone in the working directory for a package without modules."""
    clone = tmp_path / "hearsay"
    for package in PACKAGES:
        (clone / package).mkdir(parents=True)
        (clone / package / "__init__.py").write_text("__version__ = '1.2'")
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, clone)
    building = "from setuptools import build_meta; build_meta.build_editable('built')"
    subprocess.run([sys.executable, "-c", building], cwd=clone, check=True, capture_output=True, timeout=60)
    (made,) = clone.glob("built/*.whl")
    with zipfile.ZipFile(made) as opened:
        opened.extractall(tmp_path / "packages")
    importing = "import site; site.addsitedir('packages'); import hearsay; print(hearsay.__version__)"
    done = subprocess.run([sys.executable, "-S", "-c", importing], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.strip() == "1.2", done.stderr


def pip(*words: str, python: Path | str = sys.executable) -> Done:
    command = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check", "--quiet", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=400)


def install(*words: str, python: Path | str) -> None:
    done = pip("install", "--no-index", "--no-deps", "--no-build-isolation", *words, python=python)
    assert done.returncode == 0, done.stderr


def environment(folder: Path, *wheels: Path) -> Path:
    """The python of a fresh environment that sees our libraries, but not the checkout that is installed among them."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True, timeout=100)
    python = folder / "bin" / "python"
    if wheels:
        install(*map(str, wheels), python=python)
    (packages,) = folder.glob("lib/python*/site-packages")
    # a plain path: the .pth files there, one of which leads to the checkout, are not read
    (packages / "libraries.pth").write_text("\n".join(path for path in sys.path if path.endswith("site-packages")))
    return python


def run(python: Path, *words: str, cwd: Path) -> Done:
    home = Path(sys.executable).parent  # the MPI of the suite's environment
    ours = {"PATH": f"{home}:{os.environ['PATH']}", "LD_LIBRARY_PATH": str(home.parent / "lib")}
    rest = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run([python, *words], cwd=cwd, env={**rest, **ours}, capture_output=True, text=True, timeout=200)


def told(done: Done) -> str:
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """The tracked files as they are now: building leaves files beside the sources."""
    folder = tmp_path_factory.mktemp("copy")
    for name in tracked():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def wheel(copy, tmp_path_factory):
    out = tmp_path_factory.mktemp("wheel")
    done = pip("wheel", "--no-index", "--no-deps", "--no-build-isolation", "--wheel-dir", str(out), str(copy))
    assert done.returncode == 0, done.stderr
    (made,) = out.iterdir()
    return made


class TestWheel:
    pytestmark = long

    def test_it_holds_every_tracked_file_and_nothing_else(self, wheel):
        with zipfile.ZipFile(wheel) as opened:
            names = {name for name in opened.namelist() if ".dist-info/" not in name}
        assert names == set(tracked(*PACKAGES))

    def test_where_there_is_no_checkout_it_runs_and_draws(self, wheel, tmp_path):
        python = environment(tmp_path / "environment", wheel)
        empty = tmp_path / "empty"
        empty.mkdir()
        place = told(run(python, "-c", "import bench; print(bench.__file__)", cwd=empty))
        assert place.startswith(str(tmp_path / "environment"))
        told(run(python, "-m", "bench.run", *WORDS, "engine=stacked", cwd=empty))
        config = compose_one([*WORDS, "engine=stacked"])
        manifest = json.loads((empty / "results/runs" / config.run_id / "manifest.json").read_text())
        assert manifest["fingerprint"] == fingerprint(config)  # as if it had been made by this checkout
        told(run(python, "-m", "bench.run", *WORDS, "engine=mpi", "ranks=2", "seed=1", cwd=empty))
        said = told(run(python, "-m", "analysis.make_figures", "--figure", "compare", "--format", "png", cwd=empty))
        assert "2 runs (2 done), seeds 0, 1 → compare.png" in said
        assert (empty / "results/figures/compare.png").stat().st_size > 5000
        words = ("experiment=paper/spike", "experiment.size=quick", "seed=0", "steps=20", "tracker=none")
        told(run(python, "-m", "bench.run", *words, cwd=empty))  # of a plug-in that is in the wheel
        said = told(run(python, "-m", "analysis.make_figures", "--figure", "spike", "--format", "png", cwd=empty))
        assert "→ spike.png" in said
        told(run(python, "-m", "analysis.make_report", cwd=empty))
        assert (empty / "results/report.html").is_file()
        count = len(list(empty.glob("results/runs/*/summary.json")))
        assert f"{count} runs: " in told(run(python.with_name("hearsay"), "status", cwd=empty))
        assert (
            told(run(python, "-c", "import hearsay; print(hearsay.load().run_id.nunique())", cwd=empty)) == f"{count}\n"
        )
        assert {path.name for path in empty.iterdir()} == {"results"}


@pytest.fixture(scope="module")
def beside(tmp_path_factory):
    """An environment with Hugging Face's datasets, the real one, and its folder in there."""
    folder = tmp_path_factory.mktemp("beside")
    python = environment(folder)
    done = pip("install", "--only-binary=:all:", "datasets", python=python)
    if done.returncode:
        pytest.skip(f"Hugging Face's datasets cannot be had: {(done.stderr.splitlines() or ['?'])[-1]}")
    (package,) = folder.glob("lib/python*/site-packages/datasets")
    return python, package


THEIRS = """
import datasets
assert datasets.Dataset.from_dict({"a": [1, 2]}).num_rows == 2
"""
BOTH = """
import sys
sys.path.append(sys.argv[1])
import analysis, datasets
assert datasets.Dataset.from_dict({"a": [1, 2]}).num_rows == 2
assert set(analysis.load("results")["algo"]) == {"dnasa"}
print("both")
from bench.config.compose import compose_one
compose_one([])
"""


class TestBesideHuggingFace:
    pytestmark = long

    @pytest.mark.parametrize("way", ["clone", "editable"])
    def test_our_commands_find_ours_and_scripts_find_theirs(self, way, beside, copy, tmp_path):
        python, package = beside
        if way == "editable":  # the last, as it stays in the environment
            install("--editable", str(copy), python=python)
        done = run(python, str(copy / "bench/run.py"), *WORDS, "engine=mpi", "ranks=1", cwd=tmp_path)
        assert "done at step 20" in told(done)  # said by a rank that had found our problem
        if way == "clone":  # in the other the same file, which finds its packages in the same way
            figure = ("--figure", "graphs", "--format", "png")
            told(run(python, str(copy / "analysis/make_figures.py"), *figure, cwd=tmp_path))
        if way == "editable":  # else nothing of ours is where this looks
            told(run(python, "-c", THEIRS, cwd=tmp_path))
        mixed = run(python, "-c", BOTH, str(copy), cwd=tmp_path)
        assert mixed.stdout == "both\n"
        assert f"'datasets' ({package / '__init__.py'})" in mixed.stderr

    def test_a_wheel_in_a_folder_and_one_over_the_other_is_noticed(self, beside, wheel, tmp_path):
        """The latter is what pip leaves when both are installed into one folder, theirs last."""
        python, package = beside
        install("--target", str(tmp_path / "suite"), str(wheel), python=python)
        assert "done at step 20" in told(
            run(python, str(tmp_path / "suite/bench/run.py"), *WORDS, "engine=stacked", cwd=tmp_path)
        )
        shutil.copytree(package, tmp_path / "suite/datasets", dirs_exist_ok=True)
        done = run(python, str(tmp_path / "suite/bench/run.py"), *WORDS, cwd=tmp_path)
        assert done.returncode == 2
        assert done.stderr.count("\n") == 2  # the first says that the command starts
        assert "another package called" in done.stderr
