"""The scores that the pages name are those of the committed tables."""

import csv
import re

import pytest

from analysis.board.choose import RULESETS
from bench.base.board import BOARD
from bench.base.board_file import read
from tests.helpers.cli import ROOT

PRICES = {"gradients take": "gradients", "slow rounds": "latency", "slow links": "bandwidth"}
CELL = re.compile(r"(\S+?)(†?) (−?\d\.\d\d)")


def standings():
    with (BOARD / "results" / "standings.csv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.parametrize("page", ["README.md", "docs/board.md"])
def test_the_first_table_has_tier_1_with_its_scores(page):
    table = standings()
    lines = [line for line in (ROOT / page).read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    for words, price in PRICES.items():
        (line,) = [line for line in lines if line.startswith(f"| {words}")]
        for ruleset, cell in zip(RULESETS, line.split("|")[2:5], strict=True):
            shown = sorted(float(score.replace("−", "-")) for _, mark, score in CELL.findall(cell) if not mark)
            first = [row for row in table if (row["ruleset"], row["price"], row["tier"]) == (ruleset, price, "1")]
            assert shown == sorted(round(float(row["score"]), 2) for row in first)
            marked = {float(score.replace("−", "-")) for _, mark, score in CELL.findall(cell) if mark}
            others = {
                round(float(row["score"]), 2) for row in table if (row["ruleset"], row["price"]) == (ruleset, price)
            }
            assert marked <= others


def test_the_tables_and_the_sealed_problems_are_of_the_frozen_version():
    """The hash changes with any byte of the rules, the protocol, the targets or the chosen settings."""
    mine = read().hash
    for name in ("results/board.md", "board.html", "sealed.yaml"):
        assert mine in (BOARD / name).read_text(encoding="utf-8"), name
    assert sum(file.stat().st_size for file in (BOARD / "runs").iterdir()) < 15e6
    assert (BOARD / "board.html").stat().st_size < 5e6
