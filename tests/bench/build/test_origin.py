"""What a rank says of itself before its first step."""

import copy

import pytest

from bench.build.origin import disagreement, made_of
from tests.helpers.configs import config


@pytest.mark.parametrize("name", ["torch", "numpy"])
def test_another_version_of_a_library_is_named_with_both(name):
    meant = made_of([config()])
    said = copy.deepcopy(meant)
    assert disagreement(said, meant, "rank 1 on h2") is None
    said["libraries"][name] = "2.2.0"
    here = meant["libraries"][name]
    told = disagreement(said, meant, "rank 1 on h2")
    assert told.startswith(f"rank 1 on h2 has {name} 2.2.0, and this command has {name} {here}: ")
    assert f"Install {name} {here} on all machines" in told
