"""Runs that declare one method or metric differently: most runs decide, and the reader is told."""

import pandas as pd
import pytest

from analysis.results.results import Results
from analysis.results.warnings import warnings
from tests.helpers.mentions import mentions

MINE = {"algorithm": {"name": "dsgd", "label": "D-SGD"}, "metrics": {"size": {"label": "q", "more_is_better": False}}}
EVIL = {"algorithm": {"name": "dsgd", "label": "best"}, "metrics": {"size": {"label": "q", "more_is_better": True}}}
OLD = {"algorithm": {"name": "dsgd"}, "metrics": {}}


def made(facts):
    names = [str(number) for number in range(len(facts))]
    runs = pd.DataFrame(
        {"run_id": names, "algo": "dsgd", "topology": "ring", "seed": range(len(facts)), "state": "done"}
    )
    rows = pd.DataFrame({"run_id": names, "step": 0, "size": 1.0})
    return Results(runs, rows, dict(zip(names, facts, strict=True)), [], "here")


@pytest.mark.parametrize("facts", [[EVIL, MINE, MINE], [MINE, MINE, EVIL], [MINE, EVIL, MINE, OLD]])
def test_most_runs_decide_what_is_declared(facts):
    found = made(facts)
    assert found.declared["dsgd"]["label"] == "D-SGD"
    assert found.measures["size"]["more_is_better"] is False
    told = " ".join(warnings(found))
    assert mentions(told, "'label'", "'dsgd'")
    assert mentions(told, "'more_is_better'", "'size'")


@pytest.mark.parametrize("facts", [[MINE, MINE], [MINE, OLD, MINE]])
def test_equal_and_missing_declarations_need_no_warning(facts):
    assert "declare" not in " ".join(warnings(made(facts)))
