"""The specification of the W&B report, without a server."""

import json
import reprlib
from types import SimpleNamespace

import pytest

from tests.helpers.invented import made

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the W&B library
LABELS = ["a'b", "a\\", "a\\b", "a\nb", "a=b", "ring' or Config('eta') == '1"]


@pytest.mark.parametrize("column", ["dataset", "topology"])
def test_names_labels_that_wandb_cannot_filter_by(column):
    from analysis.report.publish import build

    runs = [{"algo": "dsgd", "eta": eta, "end": 0.5} for eta in (0.1, 1.0)]
    results = made([*runs, *({**one, column: label} for one in runs for label in LABELS)])
    parts = {"commands": [], "facts": [], "warnings": [], "tables": [], "headline": "", "scope": ""}
    report = build(SimpleNamespace(results=results, **parts), "me", "project")
    blocks = json.loads(report._to_model().spec.model_dump_json(by_alias=True))["blocks"]
    sets = [one for block in blocks if block["type"] == "panel-grid" for one in block["metadata"]["runSets"]]
    assert {part["value"] for one in sets for part in one["filters"]["filters"]} == {"a9a", "ring"}
    (callout,) = (block for block in blocks if block["type"] == "callout-block")
    text = "".join(part["text"] for child in callout["children"] for part in child.get("children", [child]))
    assert all(reprlib.repr(label) in text for label in LABELS)
