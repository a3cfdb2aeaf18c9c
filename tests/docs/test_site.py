"""The site builds without warnings and without a network, and fits a phone."""

import re
import subprocess
import sys

import pytest

from bench.base.registry import algorithms, datasets, topologies
from tests.helpers import browser
from tests.helpers.cli import ROOT

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(400), pytest.mark.xdist_group("site")]
LOADED = re.compile(r"<(?:script|img|link|iframe)\b[^>]*\b(?:src|href)=\"((?:https?:)?//[^\"]+)\"")
SEEN = """
await new Promise((done) => setTimeout(done, 300));
const rows = () => [...document.querySelectorAll(".catalog tbody tr")].filter((row) => !row.hidden).length;
const seen = { all: rows(), filters: document.querySelectorAll("input.filter").length };
const head = document.querySelector(".catalog th");
const names = () => [...document.querySelectorAll(".catalog tbody tr")].map((row) => row.cells[0].textContent);
seen.sorted = head && ["first", "second"].map(() => { head.click(); return names(); });
const field = document.querySelector(".catalog input.filter");
if (field) { field.value = "compressed"; field.dispatchEvent(new Event("input")); }
seen.filtered = rows();
seen.width = [document.documentElement.scrollWidth, innerWidth];
seen.math = [...document.querySelectorAll("math")].map((formula) => formula.getBoundingClientRect().width);
seen.background = getComputedStyle(document.body).backgroundColor;
return seen;
"""


@pytest.fixture(scope="module")
def site():
    """The site of this checkout; after make docs, Sphinx only reads the pages that have changed."""
    done = subprocess.run(
        [sys.executable, ROOT / "docs/build.py"], cwd=ROOT, capture_output=True, text=True, timeout=380
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return ROOT / "build/site"


def test_every_name_has_a_page_and_no_page_loads_anything_from_the_network(site):
    for kind, names in {"methods": algorithms, "graphs": topologies, "datasets": datasets}.items():
        ours = {name for name in names if not names[name].__module__.startswith("tests.")}  # other tests register some
        assert {page.stem for page in (site / "catalog" / kind).glob("*.html")} == ours
    for page in site.rglob("*.html"):
        assert LOADED.findall(page.read_text(encoding="utf-8")) == [], page


@pytest.mark.skipif(browser.find() is None, reason="there is no Chromium")
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize(
    "page", ["index", "docs/start", "docs/machines", "catalog/methods", "catalog/methods/dnasa", "catalog/graphs/ring"]
)
def test_a_page_fits_a_phone(page, dark, site, tmp_path):
    file = site / f"{page}.html"
    copy = tmp_path / "copy.html"
    copy.write_text(
        file.read_text(encoding="utf-8").replace("<head>", f'<head><base href="{file.parent.as_uri()}/">', 1)
    )
    seen, complaints = browser.look(copy, SEEN, tmp_path / "browser", width=390, dark=dark)
    assert complaints == []
    assert seen["width"][0] <= seen["width"][1] == 390
    assert (seen["background"] == "rgb(255, 255, 255)") is not dark
    if page == "catalog/methods/dnasa":
        assert seen["math"]
        assert all(width > 0 for width in seen["math"])
    if page == "catalog/methods":
        assert seen["all"] == len(list(algorithms)) > seen["filtered"] > 0
        assert seen["filters"] == 1
        up, down = seen["sorted"]
        assert up == sorted(up, key=str.lower) == down[::-1]
