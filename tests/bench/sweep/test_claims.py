"""Who has lost its claim on a run changes nothing in the run's folder, whatever it was about to write."""

import json

import pytest

from tests.helpers.claims import LAST, come_back


@pytest.mark.parametrize("last", LAST)
def test_a_process_that_was_believed_dead_changes_nothing(last, tmp_path):
    before, after = come_back(last, tmp_path)
    assert json.loads(before["status.json"])["state"] == "done"
    assert after == before
