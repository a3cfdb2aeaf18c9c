"""The code layout as CONTRIBUTING.md draws it: few folders, each with one line that says what it contains."""

import ast
import re
from fnmatch import fnmatch

from bench.base.home import ROOT

PACKAGES = ("algorithms", "analysis", "bench", "benchmarks", "datasets", "hearsay", "reproduction")
ROOMS = 28


def folders(of):
    return [path for path in (ROOT / of).iterdir() if (path / "__init__.py").exists()]


def commands():
    return [path for path in (ROOT / "bench").glob("*.py") if path.stem != "__init__"]


def test_one_sees_the_house_at_a_glance():
    """A room is a command or a folder of bench."""
    assert len(commands()) + len(folders("bench")) <= ROOMS


def test_no_file_is_longer_than_one_reads_at_once():
    files = [file for package in PACKAGES for file in (ROOT / package).rglob("*.py")]
    assert {file.name: n for file in files if (n := len(file.read_text().splitlines())) > 250} == {}


def test_each_folder_says_in_one_line_what_lives_there():
    for package in PACKAGES:
        for face in (ROOT / package).rglob("__init__.py"):
            first, *more = (ast.get_docstring(ast.parse(face.read_text())) or "").splitlines() or [""]
            assert first.endswith("."), face
            assert more[:1] in ([], [""]), face


def test_the_map_in_contributing_names_every_room():
    drawn = (ROOT / "CONTRIBUTING.md").read_text().partition("## Code layout")[2].split("```")[1]
    assert len(drawn.strip().splitlines()) <= 11
    rooms = [*commands(), *folders("bench"), *folders("bench/sweep"), *folders("analysis")]
    words = re.split(r"[\s/,;:]+", drawn)
    assert {room.stem for room in rooms} - {word.removesuffix(".py") for word in words} == set()
    assert [package for package in PACKAGES if f"{package}/" not in drawn] == []


def test_every_folder_of_tests_is_searched_for_tests(request):
    """pytest skips some names by default, such as build."""
    skipped = request.config.getini("norecursedirs")
    folders_of_tests = {file.parent.relative_to(ROOT) for file in (ROOT / "tests").rglob("test_*.py")}
    assert [f for f in folders_of_tests if any(fnmatch(part, name) for part in f.parts for name in skipped)] == []
