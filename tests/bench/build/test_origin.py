"""Checks that ranks have the software of the command."""

import copy

import pytest

from bench.build.origin import disagreement, made_of
from tests.helpers.configs import config


@pytest.mark.parametrize("name", ["torch", "numpy"])
def test_another_version_of_a_library_is_reported_with_both_versions(name):
    meant = made_of([config()])
    reported = copy.deepcopy(meant)
    assert disagreement(reported, meant, "rank 1 on h2") is None
    reported["libraries"][name] = "2.2.0"
    message = disagreement(reported, meant, "rank 1 on h2")
    for part in ("rank 1 on h2", f"{name} 2.2.0", f"{name} {meant['libraries'][name]}"):
        assert part in message
